#include "vernier/backends/simulated/simulated_backend.h"

#include "vernier/backends/shared/attention/attention_plans.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/base/error.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/randomness.h"

namespace vernier::simulated {

namespace {

bool is_plain_tensor(const std::optional<Operand>& operand) {
  const auto is_known = [](Layout layout) { return layout == Layout::kPlain || layout == Layout::kCache; };
  return !operand || (is_known(operand->layout) && operand->element != ElementType::kUndefined &&
                      operand->element != ElementType::kString);
}

bool is_tensor(const Value* value) {
  return value == nullptr || value->type.is_tensor();
}

bool has_tactics(const KernelRequest& request, const SimulatedOptions& options) {
  const bool asked =
      options.tactics || (options.fault && options.fault->kind == DeviceFault::Kind::kWrongTactic);
  const auto* def = ops::OpRegistry::instance().find(request.node);
  return asked && def != nullptr && (def->traits & ops::kContraction) != 0;
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
  if (!request.tactic.empty() && (request.tactic != kTwice || !has_tactics(request, options)))
    return fmt::format("there is no tactic '{}'", request.tactic);
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_tensor) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), is_tensor))
    return "sequences and optionals are on the host";
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), is_plain_tensor) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), is_plain_tensor))
    return "its operands are strings, or no plain tensors";
  return {};
}

// A program computes an operator on operands of these types and sizes.
std::string program_name(const KernelRequest& request, int times) {
  std::string name = fmt::format("{} {}:", request.node.qualified_op(), times);
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const auto& operand : *operands) {
      if (operand)
        name += " " + std::string(element_type_short_name(operand->element)) + dims_text(operand->dims);
      if (operand && operand->layout == Layout::kCache) name += fmt::format(" of {}", operand->capacity);
      name += ",";
    }
  }
  return name;
}

}  // namespace

SimulatedBackend::SimulatedBackend(SimulatedOptions options, const std::optional<FaultSpec>& fault)
    : device_(std::make_unique<SimulatedDevice>(std::move(options))) {
  if (!fault) return;
  const auto sums = [](Fault kind, const KernelRequest&, std::string& reason) {
    reason = fmt::format("the simulated device sums exactly, and has no {}", fault_name(kind));
    return std::unique_ptr<Kernel>();
  };
  injector_ = std::make_unique<FaultInjector>(
      *fault, *device_,
      [this](const KernelRequest& request, std::string& reason) { return make_sound(request, reason); },
      sums);
}

std::unique_ptr<Kernel> SimulatedBackend::make(const KernelRequest& request, std::string& reason) const {
  return injector_ ? injector_->make(request, reason) : make_sound(request, reason);
}

std::unique_ptr<Kernel> SimulatedBackend::make_sound(const KernelRequest& request,
                                                     std::string& reason) const {
  reason = refusal(request, device_->options());
  if (!reason.empty()) return nullptr;
  const int times = request.tactic.empty() ? 1 : 2;
  const std::string name = program_name(request, times), sound = "code of " + name;
  const std::string code = device_->code_of(name, sound);
  const bool wrong = times == 2 && device_->faults().strikes(DeviceFault::Kind::kWrongTactic);
  return make_kernel(request, times, wrong || code != sound, {{name, code}});
}

void SimulatedBackend::take(const Payloads& made) const {
  device_->take(made);
}

std::vector<std::string> SimulatedBackend::tactics(const KernelRequest& request) const {
  return has_tactics(request, device_->options()) ? std::vector<std::string>{kTwice}
                                                  : std::vector<std::string>();
}

void SimulatedBackend::choose_layouts(KernelRequest& request) const {
  const auto caches = caches_of(request);
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
  if (caches.empty()) return;
  const std::string& op = request.node.op;
  if (op == "Concat") lay_out_concat_caches(request, caches);
  lay_out_attention_caches(request, caches);
}

std::unique_ptr<Kernel> SimulatedBackend::reorder(const Operand& from, Layout to) const {
  return make_reorder(from, to);
}

std::optional<FaultSpec> SimulatedBackend::applied_fault() const {
  device_->faults().require();
  return injector_ ? std::optional(injector_->applied()) : std::nullopt;
}

}  // namespace vernier::simulated
