// Kernels that compute in the types of a precision plan; others are refused.
#pragma once

#include <set>

#include "vernier/exec/backend_decorator.h"
#include "vernier/precision/plan.h"

namespace vernier {

// Whoever asks for a kernel, a tuner or a plan, then takes the next way: another tactic, the nodes of a group
// one by one, at last the reference, which computes in double and so is within every plan.
class ObeyingKernels : public BackendDecorator {
 public:
  // All outlive this. `nodes` are those of the ONNX model.
  ObeyingKernels(const Backend& kernels, const PrecisionPlan& plan, const std::set<std::string>& nodes)
      : BackendDecorator(kernels), plan_(plan), nodes_(nodes) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;

 private:
  const PrecisionPlan& plan_;
  const std::set<std::string>& nodes_;
};

}  // namespace vernier
