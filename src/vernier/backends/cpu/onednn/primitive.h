// oneDNN as kernels: memory descriptors of operands, post-ops, and a primitive with its arguments. What
// differs between oneDNN 2.6 and 3.x stands beside what needs it.
#pragma once

#include <atomic>
#include <dnnl.hpp>
#include <memory>

#include "vernier/backends/cpu/onednn/openmp_calls.h"
#include "vernier/backends/shared/epilogue.h"

namespace vernier::cpu {

dnnl::engine& dnnl_engine();
dnnl::stream& thread_stream();

// Nothing for types that oneDNN does not have.
std::optional<dnnl::memory::data_type> dnnl_type(ElementType type);
dnnl::memory::dims to_dnnl(const Dims& dims);
// The operand as it lies in memory.
dnnl::memory::desc describe(const Operand& operand);
// A plain array of these sizes.
dnnl::memory::desc plain(dnnl::memory::data_type type, const Dims& dims);
dnnl::memory::desc any(dnnl::memory::data_type type, const Dims& dims);
// These functions hide what differs between oneDNN 2.6 and 3.x in reading descriptors.
dnnl::memory::dims dims_of(const dnnl::memory::desc& descriptor);

// A constant as a primitive wants it: memory that is there, or weights that are packed when they are needed.
struct PackedMemory {
  dnnl::memory memory;
  std::shared_ptr<const PackedForm> form;
};
// Shared with all kernels of the engine that want the same (request.packed).
PackedMemory pack(const KernelRequest& request, const Tensor& content, const dnnl::memory::desc& as_is,
                  const dnnl::memory::desc& wanted);
// The same for a form that `fill` makes, on one thread, when it is first needed.
PackedMemory pack(const KernelRequest& request, const Tensor& content, const std::string& form,
                  const dnnl::memory::desc& wanted, PackedForm::Fill fill);

// Where the memory of an argument comes from.
struct Argument {
  int id;  // DNNL_ARG_SRC, …
  dnnl::memory::desc descriptor;
  int input = -1, output = -1;  // of the step
  std::optional<PackedMemory> own;
};

// The weights of a contraction: packed if they are constant, else as they come.
Argument weights_argument(const KernelRequest& request, int input, const dnnl::memory::desc& as_is,
                          const dnnl::memory::desc& wanted);

class DnnlKernel : public Kernel {
 public:
  // prepare() makes the described primitive, under the number of threads that the caller has now.
  DnnlKernel(dnnl::primitive_desc_base description, const dnnl::memory::desc& scratch,
             std::vector<Argument> arguments);
  ~DnnlKernel() override;
  void run(const KernelArguments& arguments) const override;
  void prepare() const override { prepared(); }
  bool is_prepared() const override { return prepared_.load(std::memory_order_acquire) != nullptr; }
  bool reads(size_t input) const override;

  // The sum post-op adds to what is in the output: this input is copied there first, unless it is there
  // already.
  int accumulate_into = -1;
  size_t accumulate_bytes = 0;
  // 1: the work is too little for more; 0: as many as there are. The primitive must be made under the same
  // number.
  int threads = 0;

 private:
  // Holds all that takes long to make.
  struct Prepared {
    std::shared_ptr<const dnnl::primitive> primitive;
    std::vector<dnnl::memory> own;  // by argument; empty for those that come with a run
  };
  const Prepared& prepared() const;

  // Memory objects of all arguments. Making them costs more than a small product, so a set is kept for the
  // next run; a run that comes while it is in use makes its own.
  struct Bound;
  std::unique_ptr<Bound> take(const Prepared& prepared) const;
  void keep(std::unique_ptr<Bound> bound) const;

  mutable dnnl::primitive_desc_base description_;  // until it is prepared: it takes some 10 KB
  dnnl::memory::desc scratch_;
  std::vector<Argument> arguments_;
  int made_under_;  // threads
  TeamKind team_;
  mutable std::mutex mutex_;
  mutable std::atomic<const Prepared*> prepared_{nullptr};
  mutable std::atomic<Bound*> kept_{nullptr};
};

// Post-ops and the arguments that they read.
struct Epilogue {
  dnnl::primitive_attr attributes;
  std::vector<Argument> arguments;
  int sum_input = -1;  // the input that is summed in place
};
// Nothing, with `reason`, for operands that oneDNN cannot broadcast. The output's descriptor decides how
// operands of its sizes lie.
std::optional<Epilogue> make_epilogue(const Fused& fused, const KernelRequest& request, std::string& reason);

// A maker that oneDNN may refuse: then there is no kernel, and the reason is oneDNN's.
template <std::unique_ptr<Kernel> (*kMake)(const KernelRequest&, std::string&)>
std::unique_ptr<Kernel> unless_refused(const KernelRequest& request, std::string& reason) {
  try {
    return kMake(request, reason);
  } catch (const dnnl::error& error) {
    reason = fmt::format("oneDNN: {}", error.message);
    return nullptr;
  }
}

// "onednn:jit:avx512_core" from what oneDNN says of itself.
std::string dnnl_name(const char* implementation);

// Primitives by what they compute: the layers of a model that differ in their weights alone share one.

// The primitive of a description, to be run by so many threads: one that is in use for an equal description,
// else a new one. Making it generates code, which takes as long as many a product. Thread-safe. Throws
// dnnl::error.
std::shared_ptr<const dnnl::primitive> shared_primitive(const dnnl::primitive_desc_base& description,
                                                        int threads);

}  // namespace vernier::cpu
