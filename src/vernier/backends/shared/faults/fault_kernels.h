// Kernels that compute wrongly on purpose, by what goes wrong.
#pragma once

#include "vernier/backends/shared/faults/changed_request.h"
#include "vernier/backends/shared/faults/fault.h"
#include "vernier/exec/backend.h"
#include "vernier/exec/kernel_decorator.h"

namespace vernier {

// A kernel that runs another one, wrongly.
class WrappedKernel : public KernelDecorator {
 public:
  WrappedKernel(std::unique_ptr<Kernel> inner, Fault fault) : KernelDecorator(std::move(inner)) {
    name = fmt::format("{} (fault: {})", inner_->name, fault_name(fault));
    scratch_bytes = inner_->scratch_bytes;
  }
  bool reads(size_t input) const override { return inner_->reads(input); }

 protected:
  // Runs the sound kernel with its first output at `output`.
  void run_inner(const KernelArguments& arguments, size_t outputs, void* output) const {
    std::vector<void*> to(arguments.outputs, arguments.outputs + outputs);
    to.at(0) = output;
    inner_->run({arguments.inputs, to.data(), arguments.scratch});
  }
};

// Faults in what a kernel is asked for: an operand, a bound or a stride that is not the model's.

// Changes the members that the fault means and applies to. Gives the ONNX name of one of them, "" if there is
// none.
std::string change_operands(const FaultSpec& spec, ChangedRequest& request);

// A kernel made for the changed request, to be run in place of one for the original.
std::unique_ptr<Kernel> run_changed(Fault fault, const KernelRequest& original,
                                    std::shared_ptr<ChangedRequest> changed, std::unique_ptr<Kernel> kernel);

// Matrix products and convolutions whose sums go wrong as they do in real kernels: product by product.

// Whether the fault can go into the sums of this node: MatMul, Gemm or Conv of floats.
bool sums_products(const Node& node, const Operand& first);
// Null, with `reason`, for operands in a layout of images.
std::unique_ptr<Kernel> make_faulty_sums(Fault fault, const KernelRequest& request, std::string& reason);

// Faults in how a kernel's output comes to lie in memory: a stale buffer, a swapped axis, a missed
// synchronisation.

// Whether the fault would change the first output of this request.
bool spoils_output(Fault fault, const KernelRequest& request);
// For a fault of which spoils_output() is true.
std::unique_ptr<Kernel> spoil_output(Fault fault, const KernelRequest& request,
                                     std::unique_ptr<Kernel> kernel);

// Faults of kernels that do not let their process go on: a crash, a hang.

// For a fault of which stops_process() is true. The kernel is made as ever, and stops the process when it
// runs.
std::unique_ptr<Kernel> stop_process(Fault fault, std::unique_ptr<Kernel> kernel);

// A kernel that runs an operator's reference semantics: where a fault goes into a node that the backend has
// no kernel for.

// Null, with `reason`, for groups, and operands in a layout of images.
std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<ChangedRequest> request, std::string& reason);

}  // namespace vernier
