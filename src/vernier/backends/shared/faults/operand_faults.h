// Faults in what a kernel is asked for: an operand, a bound or a stride that is not the model's.
#pragma once

#include "vernier/backends/shared/faults/changed_request.h"
#include "vernier/backends/shared/faults/fault.h"

namespace vernier {

// Changes the members that the fault means and applies to. Gives the ONNX name of one of them, "" if there is
// none.
std::string change_operands(const FaultSpec& spec, ChangedRequest& request);

// A kernel made for the changed request, to be run in place of one for the original.
std::unique_ptr<Kernel> run_changed(Fault fault, const KernelRequest& original,
                                    std::shared_ptr<ChangedRequest> changed, std::unique_ptr<Kernel> kernel);

}  // namespace vernier
