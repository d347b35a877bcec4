#include "vernier/backends/simulated/simulated_backend.h"

#include "vernier/backends/simulated/simulated_kernel.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/randomness.h"

namespace vernier::simulated {

namespace {

bool is_plain_tensor(const std::optional<Operand>& operand) {
  return !operand || (operand->layout == Layout::kPlain && operand->element != ElementType::kUndefined &&
                      operand->element != ElementType::kString);
}

bool is_tensor(const Value* value) {
  return value == nullptr || value->type.is_tensor();
}

// Why there is no kernel; empty if there is one.
std::string refusal(const KernelRequest& request, const SimulatedOptions& options) {
  const Node& node = request.node;
  const auto* def = ops::OpRegistry::instance().find(node);
  if (ops::is_group(node)) return "the simulated device computes the nodes of a group one by one";
  if (options.lacks.contains(node.op) || options.lacks.contains(node.qualified_op()))
    return "the simulated device lacks " + node.qualified_op();
  if (def == nullptr || def->reference == nullptr) return "the operator has no reference";
  if (!node.regions.empty()) return "control flow";
  if (ops::draws_random_numbers(node)) return "random numbers are drawn on the host";
  if (request.open_sizes) return "the sizes of its outputs are known only when it has run";
  if (!request.tactic.empty()) return fmt::format("there is no tactic '{}'", request.tactic);
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_tensor) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), is_tensor))
    return "sequences and optionals are on the host";
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), is_plain_tensor) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), is_plain_tensor))
    return "its operands are strings, or no plain tensors";
  return {};
}

}  // namespace

SimulatedBackend::SimulatedBackend(SimulatedOptions options)
    : device_(std::make_unique<SimulatedDevice>(std::move(options))) {}

std::unique_ptr<Kernel> SimulatedBackend::make(const KernelRequest& request, std::string& reason) const {
  reason = refusal(request, device_->options());
  return reason.empty() ? make_kernel(request) : nullptr;
}

void SimulatedBackend::choose_layouts(KernelRequest& request) const {
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
}

std::unique_ptr<Kernel> SimulatedBackend::reorder(const Operand& /*from*/, Layout to) const {
  throw internal_error("the simulated device has no {} layout", layout_name(to));
}

std::optional<FaultSpec> SimulatedBackend::applied_fault() const {
  device_->require_fault();
  return std::nullopt;
}

}  // namespace vernier::simulated
