#include "vernier/exec/planning/plan_kernels.h"

#include "vernier/exec/planning/plan_slots.h"

namespace vernier {

namespace {

constexpr const char* kInQuarantine =
    "its kernels are in quarantine: they differ from the reference, or did not end their trial";

// Tells of outputs that may lie behind the past that the node reads.
void offer_caches(const Node& node, const std::vector<SlotId>& found, const Plan& plan,
                  KernelRequest& request) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const MemoryBinding* cache = node.outputs[i] == nullptr ? nullptr : plan.cache_of(*node.outputs[i]);
    if (cache == nullptr) continue;
    const Operand& past = plan.slots[static_cast<size_t>(plan.inputs[cache->input])].operand;
    if (std::count(found.begin(), found.end(), plan.inputs[cache->input]) == 1 &&
        fits_cache(request.out(i), past))
      request.outputs[i]->capacity = past.capacity;
  }
}

// False where all is plain already.
bool lay_out_plain(KernelRequest& request) {
  bool changes = false;
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (!operand || operand->layout == Layout::kPlain) continue;
      operand->layout = Layout::kPlain;
      changes = true;
    }
  }
  return changes;
}

}  // namespace

std::optional<KernelRequest> request_at(const Node& node, const std::vector<SlotId>& found, const Plan& plan,
                                        PackedConstants& packed) {
  KernelRequest request{node, {}, {}, &packed, plan.choices.images};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    auto operand = node.inputs[i] == nullptr ? std::nullopt : operand_of(*node.inputs[i]);
    if (node.inputs[i] != nullptr && !operand) return std::nullopt;
    if (operand && found[i] != kNoSlot) operand = plan.slots[static_cast<size_t>(found[i])].operand;
    request.inputs.push_back(std::move(operand));
  }
  for (const Value* output : node.outputs) {
    auto operand = output == nullptr ? std::nullopt : operand_of(*output);
    if (output != nullptr && !operand) return std::nullopt;
    request.outputs.push_back(std::move(operand));
  }
  if (!plan.choices.bindings.empty()) offer_caches(node, found, plan, request);
  return request;
}

KernelRequest request_on(int device, KernelRequest request, const std::vector<SlotId>& found,
                         const Plan& plan) {
  const auto is_elsewhere = [&](SlotId id) { return plan.slots[static_cast<size_t>(id)].device != device; };
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i) || request.in(i).layout != Layout::kCache || !is_elsewhere(found[i])) continue;
    request.inputs[i]->layout = Layout::kPlain;
    request.inputs[i]->capacity = 0;
  }
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    if (!request.wants(i) || request.out(i).capacity == 0) continue;
    if (is_elsewhere(plan.inputs[plan.cache_of(*request.node.outputs[i])->input]))
      request.outputs[i]->capacity = 0;
  }
  return request;
}

std::shared_ptr<const Kernel> PlanKernels::of_host(KernelRequest& request, std::string& reason) {
  backends_.host.choose_layouts(request);
  choose_tactic(request, backends_.host);
  auto kernel = make(request, reason);
  if (!kernel && !request.tactic.empty() && request.tactic != kReferenceTactic) {
    // A tactic that was chosen at other sizes may not serve at these: then the backend chooses.
    choices_.tactics.erase(request.node.output(0)->name);
    request.tactic = {};
    kernel = make(request, reason);
  }
  if (kernel || request.tactic == kReferenceTactic) return kernel;
  lay_out_plain(request);  // perhaps so
  return make_or_find(request, reason);
}

std::shared_ptr<const Kernel> PlanKernels::of_accelerator(int device, KernelRequest& request,
                                                          std::string& reason) {
  const Backend& accelerator = *backends_.accelerators[static_cast<size_t>(device - 1)];
  accelerator.choose_layouts(request);
  if (auto kernel = accelerator.make(request, reason)) {
    choose_tactic(request, accelerator);
    if (request.tactic == kReferenceTactic) {
      reason = kInQuarantine;
      return nullptr;
    }
    if (request.tactic.empty()) return kernel;
    std::string refusal;  // of a tactic that was chosen at other sizes, or on another device
    if (auto chosen = accelerator.make(request, refusal)) return chosen;
    request.tactic = {};
    return kernel;
  }
  if (!lay_out_plain(request)) return nullptr;
  return accelerator.make(request, reason);
}

void PlanKernels::choose_tactic(KernelRequest& request, const Backend& backend) {
  const Value* made = request.node.output(0);
  if (made == nullptr) return;
  auto found = choices_.tactics.find(made->name);
  if (found == choices_.tactics.end() && choose_) {
    std::string chosen = choose_(request, backend);
    if (!chosen.empty()) found = choices_.tactics.emplace(made->name, std::move(chosen)).first;
  }
  if (found != choices_.tactics.end()) request.tactic = found->second;
}

std::shared_ptr<const Kernel> PlanKernels::make_or_find(const KernelRequest& request,
                                                        std::string& reason) const {
  const auto made = [&] { return backends_.host.make(request, reason); };
  return cache_ == nullptr ? made() : cache_->get(request, made);
}

std::shared_ptr<const Kernel> PlanKernels::make(const KernelRequest& request, std::string& reason) const {
  if (request.tactic != kReferenceTactic) return make_or_find(request, reason);
  reason = kInQuarantine;
  return nullptr;
}

}  // namespace vernier
