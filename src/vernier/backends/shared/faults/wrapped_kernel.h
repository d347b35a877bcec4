// A kernel that runs another one, wrongly.
#pragma once

#include "vernier/backends/shared/faults/fault.h"
#include "vernier/exec/backend.h"
#include "vernier/exec/kernel_decorator.h"

namespace vernier {

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

}  // namespace vernier
