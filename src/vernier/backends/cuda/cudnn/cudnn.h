// cuDNN on one GPU.
#pragma once

#include <span>

#include "vernier/backends/cuda/cudnn/descriptor.h"
#include "vernier/backends/cuda/cudnn/dnn_convolution.h"
#include "vernier/backends/cuda/device/context.h"
#include "vernier/backends/cuda/libraries/libraries.h"

namespace vernier::cuda {

class CudaStream;

// By which the tensors of a graph are known when it runs.
enum class DnnId : int64_t { kX = 1, kW, kBias, kResidual, kY, kBetween };

struct DnnOperand {
  DnnId id;
  void* address;
};

// Opened and made ready when it is first asked for. Thread-safe. Its handles stay until the process ends.
class Cudnn {
 public:
  // Both outlive this.
  Cudnn(const Context& context, const CudnnLibrary& library) : context_(context), library_(library) {}
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // A handle, to one borrower after the other. A stream keeps its own as long as it lives: where the library
  // is told another stream, it records an event on the one before.
  class Loan {
   public:
    explicit Loan(Cudnn& lender, StreamHandle stream = nullptr);
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    DnnHandle handle() const { return handle_; }

   private:
    Cudnn& lender_;
    DnnHandle handle_;
    bool has_stream_;
  };

  // Whether there are handles; if not, `reason`: the library is missing, or does not serve this GPU.
  bool serves(std::string& reason);
  // The plan of a tactic, or of the library's first choice (""), once for all who ask, or null, with
  // `reason`. Where it serves.
  std::shared_ptr<const DnnPlan> plan(const DnnConvolution& asked, std::string_view tactic,
                                      std::string& reason);
  // Plans that were made in another process, by DnnPlan::name: they are made again without a search.
  void know(const Payloads& plans);
  // Names the engines that keep to the contract and serve the convolution, the first choice first.
  std::vector<std::string> tactics(const DnnConvolution& asked);
  static constexpr size_t kMostOperands = 5;
  // Enqueues the plan on the stream, with DnnPlan::working_bytes of memory. `what` is for messages. What goes
  // wrong is thrown when the host waits.
  void run(const DnnPlan& plan, std::span<const DnnOperand> operands, std::byte* memory, CudaStream& stream,
           std::string_view what);
  // Usable where it serves.
  const CudnnApi& api() const { return library_.api(); }
  const Context& context() const { return context_; }
  // Throws an internal error where a call went wrong.
  void check(DnnStatus status, std::string_view what) const;

 private:
  DnnHandle take();
  void give_back(DnnHandle handle);
  DnnHandle make(std::string& reason) const;
  std::shared_ptr<DnnPlan> choose(const DnnConvolution& asked, std::string_view tactic, std::string& reason);
  // Null where the library does not take it back.
  std::shared_ptr<DnnPlan> restore(const std::string& json);

  const Context& context_;
  const CudnnLibrary& library_;
  std::mutex mutex_;
  std::vector<DnnHandle> free_;
  bool asked_ = false;
  std::string missing_;  // why there are no handles, if that is known
  struct Chosen {
    std::shared_ptr<const DnnPlan> plan;
    std::string reason;
  };
  std::mutex plans_mutex_;
  std::map<std::string, Chosen> plans_;  // by the text of what was asked, and the tactic
  Payloads known_;
};

}  // namespace vernier::cuda
