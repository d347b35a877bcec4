// Kernels that compute wrongly on purpose, by what goes wrong.
#pragma once

#include "vernier/backends/shared/faults/changed_request.h"
#include "vernier/backends/shared/faults/fault.h"
#include "vernier/exec/backend.h"
#include "vernier/exec/kernel_decorator.h"

namespace vernier {

// Says what goes wrong, in a kernel for this request, on this device.
struct FaultPlace {
  Fault kind;
  Device& device;
  const KernelRequest& request;
};

// A kernel that moves what lies in memory of a device, and what it was made for.
struct Mover {
  std::shared_ptr<ChangedRequest> request;
  std::unique_ptr<Kernel> kernel;
};

// A kernel that runs another one, wrongly, and perhaps a second one behind it, which moves what the first has
// made in memory of their own.
class WrappedKernel : public KernelDecorator {
 public:
  WrappedKernel(std::unique_ptr<Kernel> inner, Mover mover, Fault fault);
  bool reads(size_t input) const override { return inner_->reads(input); }
  void prepare() const override;
  bool is_prepared() const override;
  void add_payloads(Payloads& to) const override;

 protected:
  // The scratch memory then has so many bytes more, for what the inner kernel makes.
  void reserve(size_t bytes);
  // That memory in a run.
  std::byte* reserved(const KernelArguments& arguments) const { return arguments.scratch + reserved_at_; }
  // Runs the inner kernel with its first output at `output`.
  void run_inner(const KernelArguments& arguments, size_t outputs, void* output) const;
  // Runs the mover.
  void move(const KernelArguments& arguments, const void* from, void* to) const;

 private:
  Mover mover_;  // may be none
  size_t reserved_at_ = 0;
};

// Copies within the memory that the kernel of the arguments works in: at once, or on its stream.
void copy(const KernelArguments& arguments, const void* from, void* to, size_t bytes);

// Faults in what a kernel is asked for: an operand, a bound or a stride that is not the model's.

// Changes the members that the fault means and applies to. Gives the ONNX name of one of them, "" if there is
// none.
std::string change_operands(const FaultSpec& spec, ChangedRequest& request);

// How the first output of a kernel for the changed request lies in memory, and what cuts out of it what lies
// so of the original; both are the same if it needs no cutting.
Dims made_dims(const KernelRequest& original, ChangedRequest& changed);
std::shared_ptr<ChangedRequest> crop_request(const KernelRequest& original, ChangedRequest& changed);

// A kernel made for the changed request, to be run in place of one for the original. `crop`: none where there
// is nothing to cut.
std::unique_ptr<Kernel> run_changed(const FaultPlace& place, std::shared_ptr<ChangedRequest> changed,
                                    std::unique_ptr<Kernel> kernel, Mover crop);

// Matrix products and convolutions whose sums go wrong as they do in real kernels: product by product.

bool spoils_sums(Fault fault);
// Whether such a fault can go into the sums of this node: MatMul, Gemm or Conv of floats.
bool sums_products(const Node& node, const Operand& first);
// In memory of the host. Null, with `reason`, for operands in a layout of images.
std::unique_ptr<Kernel> make_faulty_host_sums(Fault fault, const KernelRequest& request, std::string& reason);

// Faults in how a kernel's output comes to lie in memory: a stale buffer, a swapped axis, a missed
// synchronisation.

// Whether the fault would change the first output of this request.
bool spoils_output(Fault fault, const KernelRequest& request);
// Makes the request that swaps the last two axes of the output, as it lies in memory.
std::shared_ptr<ChangedRequest> swap_request(const KernelRequest& request);
// For a fault of which spoils_output() is true. `transpose`: for a swapped axis.
std::unique_ptr<Kernel> spoil_output(const FaultPlace& place, std::unique_ptr<Kernel> kernel,
                                     Mover transpose);

// Faults of kernels that do not let their process go on: a crash, a hang.

// For a fault of which stops_process() is true. The kernel is made as ever, and stops the process when it
// runs.
std::unique_ptr<Kernel> stop_process(Fault fault, std::unique_ptr<Kernel> kernel);

// A kernel that runs an operator's reference semantics: where a fault goes into a node that the backend has
// no kernel for.

// Null, with `reason`, for groups, and operands in a layout of images.
std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<ChangedRequest> request, std::string& reason);

}  // namespace vernier
