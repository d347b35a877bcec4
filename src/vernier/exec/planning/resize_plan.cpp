#include "vernier/exec/planning/resize_plan.h"

#include "vernier/exec/planning/part_offsets.h"
#include "vernier/exec/planning/place_slots.h"
#include "vernier/exec/planning/plan_kernels.h"
#include "vernier/exec/planning/plan_slots.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

class PlanResizer {
 public:
  PlanResizer(const Plan& like, ResizedNodes resized, const Backends& backends, PackedConstants& packed,
              const PlanChoices& choices, KernelCache* cache)
      : like_(like),
        copies_(std::move(resized)),
        backends_(backends),
        packed_(packed),
        choices_(choices),
        kernels_(backends, plan_.choices, no_choice_, cache) {
    plan_.graph = like.graph;
    plan_.resized = std::move(copies_.graph);
    plan_.slots = like.unplaced;
    plan_.steps = like.steps;
    plan_.inputs = like.inputs;
    plan_.outputs = like.outputs;
    plan_.devices = like.devices;
    plan_.streams = like.streams;
    plan_.end_waits = like.end_waits;
    plan_.choices = like.choices;
  }

  std::optional<Plan> resize() {
    if (!like_.regions.empty() || !like_.has_graph()) return std::nullopt;
    for (Slot& slot : plan_.slots) {
      if (!resize(slot)) return std::nullopt;
    }
    for (const SlotView& view : like_.views) {
      if (!resize(view)) return std::nullopt;
    }
    for (const SeparatedGroup& group : like_.separated) {
      if (is_one_step(group)) return std::nullopt;
    }
    for (Step& step : plan_.steps) {
      step.dead.clear();
      if (!resize(step)) return std::nullopt;
    }
    place_slots(plan_);
    return std::move(plan_);
  }

 private:
  const Node& copy_of(const Node& node) const {
    const auto found = copies_.nodes.find(&node);
    return found == copies_.nodes.end() ? node : *found->second;
  }
  Slot& slot(SlotId id) { return plan_.slots[static_cast<size_t>(id)]; }
  const Slot& before(SlotId id) const { return like_.unplaced[static_cast<size_t>(id)]; }

  bool resize(Slot& slot) {
    const auto found = copies_.values.find(slot.value);
    if (found == copies_.values.end()) return true;
    slot.value = found->second;
    auto operand = operand_of(*slot.value);
    if (operand.has_value() != slot.known) return false;
    if (!operand) return true;
    operand->layout = slot.operand.layout;
    operand->capacity = slot.operand.capacity;
    if (operand->layout == Layout::kCache && !fits_cache(*operand, *operand)) return false;
    const bool is_constant = slot.home == Slot::Home::kConstant;
    if (is_constant) slot.constant = *slot.value->constant;
    if (slot.operand.constant == nullptr) operand->constant = nullptr;
    slot.operand = std::move(*operand);
    return true;
  }

  bool resize(const SlotView& view) {
    Slot& made = slot(view.slot);
    const Slot& base = slot(view.base);
    size_t offset = before(view.slot).within - before(view.base).within;
    if (const Node& node = copy_of(*view.node); &node != view.node) {
      if ((ops::OpRegistry::instance().require(node).traits & ops::kView) != 0) {
        if (base.operand.size() != made.operand.size()) return false;
      } else if (const auto offsets = part_offsets(node)) {
        offset = static_cast<size_t>((*offsets)[view.output]) * element_size(made.operand.element);
      } else {
        return false;
      }
    }
    made.storage = base.storage;
    made.within = base.within + offset;
    return true;
  }

  bool resize(Step& step) {
    if (step.copies) return true;
    if (step.node == nullptr) return resize_reorder(step);
    const Node& node = copy_of(*step.node);
    if (&node == step.node) return true;
    if (part_offsets(node).has_value() != part_offsets(*step.node).has_value()) return false;
    step.node = &node;
    if (step.by_reference || step.found.size() != node.inputs.size()) return true;
    const auto request = request_at(node, step.found, plan_, packed_);
    if (!request) return true;
    const auto had = step.kernel;
    KernelRequest laid_out = *request;
    const int device = ask(laid_out, step.kernel);
    if ((step.kernel == nullptr) != (had == nullptr)) return false;
    return step.kernel == nullptr || (device == step.device && lies_as(step, laid_out));
  }

  // The device that computes this, whose kernel becomes `kernel` and whose layouts the request gets.
  int ask(KernelRequest& request, std::shared_ptr<const Kernel>& kernel) {
    std::string reason;
    for (int device = kHost + 1; device < static_cast<int>(plan_.devices.size()); ++device) {
      KernelRequest asked = request;
      kernel = kernels_.of_accelerator(device, asked, reason);
      if (!kernel) continue;
      request.inputs = std::move(asked.inputs);
      request.outputs = std::move(asked.outputs);
      return device;
    }
    // At the other sizes a tactic may have been left out that did not serve there.
    if (const Value* made = request.node.output(0)) {
      if (const auto tactic = choices_.tactics.find(made->name); tactic != choices_.tactics.end())
        plan_.choices.tactics.insert(*tactic);
    }
    kernel = kernels_.of_host(request, reason);
    return kHost;
  }

  bool is_one_step(const SeparatedGroup& group) {
    const Node& node = copy_of(*group.node);
    if (&node == group.node) return false;
    auto request = request_at(node, group.found, plan_, packed_);
    if (!request) return false;
    std::shared_ptr<const Kernel> kernel;
    ask(*request, kernel);
    return kernel != nullptr;
  }

  bool resize_reorder(Step& step) {
    const Operand &from = slot(step.inputs[0]).operand, &to = slot(step.outputs[0]).operand;
    if (from.dims != before(step.inputs[0]).operand.dims)
      step.kernel = make_reorder(backends_.host, from, to);
    return true;
  }

  // Whether the kernel reads and makes the slots that the step has.
  bool lies_as(const Step& step, const KernelRequest& request) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const SlotId id = step.inputs[i];
      const bool reads = step.node->inputs[i] != nullptr && step.kernel->reads(i);
      if (reads != (id != kNoSlot) || (reads && request.in(i).layout != slot(id).operand.layout))
        return false;
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const SlotId id = step.outputs[i];
      if (id != kNoSlot && request.out(i).layout != slot(id).operand.layout) return false;
    }
    return true;
  }

  const Plan& like_;
  ResizedNodes copies_;
  const Backends& backends_;
  PackedConstants& packed_;
  const PlanChoices& choices_;
  const ChooseTactic no_choice_;
  Plan plan_;
  PlanKernels kernels_;
};

}  // namespace

std::optional<Plan> resize_plan(const Plan& plan, ResizedNodes resized, const Backends& backends,
                                PackedConstants& packed, const PlanChoices& choices, KernelCache* cache) {
  return PlanResizer(plan, std::move(resized), backends, packed, choices, cache).resize();
}

}  // namespace vernier
