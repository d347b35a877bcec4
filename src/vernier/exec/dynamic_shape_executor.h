// Runs the nodes of a plan that have no kernel at planning time: those of sizes that only running tells (a
// kernel is made for the sizes at hand, and kept), and those of operators that no backend has (their
// reference semantics).
#pragma once

#include <unordered_map>

#include "vernier/exec/program.h"
#include "vernier/exec/run_options.h"
#include "vernier/exec/session_memory.h"

namespace vernier {

class ProgramRun;
enum class NodeContent : uint8_t;
struct InferredNode;
namespace ops {
struct OpDef;
}

// Belongs to one session; not thread-safe.
class DynamicShapeExecutor {
 public:
  explicit DynamicShapeExecutor(const Backend& kernels);
  ~DynamicShapeExecutor();

  // Holds what each region reads from around it, in order.
  using Captured = std::map<const Graph*, std::vector<Datum>>;
  // Only the stop request and the observer of the options count. Throws what inference, kernel or reference
  // throw, with the node's name, and Stopped.
  std::vector<Datum> run(const Plan& plan, const Step& step, const std::vector<const Datum*>& inputs,
                         const Captured& captured, const RunOptions& options = {});

  const Backend& kernels() const { return kernels_; }
  size_t bytes() const;  // of working memory, that of regions included

  // So many entries are kept of nodes that ran; all are forgotten when there would be more.
  static constexpr size_t kMaxKept = 4096;
  size_t kept_count() const { return kept_.size(); }

 private:
  class Context;
  // A node at sizes, and perhaps contents, that came before: how it runs, the first of these that it has.
  struct Kept {
    std::vector<std::optional<Operand>> outputs;
    std::vector<Datum> results;                    // what it yields, where that follows from the sizes
    bool is_view = false;                          // it yields its input under the sizes of its output
    std::unique_ptr<Kernel> kernel;                // null: the backend has none
    std::shared_ptr<const InferredNode> inferred;  // for the reference; null: what is known gives no sizes

    bool runs() const { return !results.empty() || is_view || kernel; }
  };
  struct Made {
    std::vector<Datum> results;
    std::string_view by;  // see Observer
  };
  using Key = std::vector<int64_t>;
  struct HashKey {
    size_t operator()(const Key& key) const;
  };

  std::vector<Datum> run_region(const Plan& plan, const Graph& region, std::vector<Datum> inputs,
                                const RunOptions& options);
  // As it was kept for the sizes at hand, else with the reference semantics.
  Made run_by_any(const Plan& plan, const Step& step, const std::vector<const Datum*>& inputs,
                  const Captured& captured, const RunOptions& options);
  // Gives what is kept for key_, else what `make` gives.
  template <class Make>
  const Kept& kept(const Make& make);
  const Kept& kept_by(NodeContent content, const Plan& plan, const Node& node, const ops::OpDef& def,
                      const std::vector<const Datum*>& inputs);
  Kept make_kept(KernelRequest request) const;
  Made run_kept(const Kept& kept, const std::vector<const Datum*>& inputs);
  std::vector<Datum> run_kernel(const Kept& kept, const std::vector<const Datum*>& inputs);

  const Backend& kernels_;
  // By plan, node, sizes of its inputs, and small contents where the kernel needs to know them.
  std::unordered_map<Key, Kept, HashKey> kept_;
  Key key_;  // at hand; and where a kernel reads and writes
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::vector<Dims> sizes_;
  Scratch scratch_;
  SessionMemory region_memory_;  // one region runs at a time
  std::map<std::shared_ptr<Program>, std::unique_ptr<ProgramRun>> regions_;
};

}  // namespace vernier
