#include "vernier/exec/planning/resizable_plan.h"

#include "vernier/exec/planning/part_offsets.h"
#include "vernier/exec/planning/place_slots.h"
#include "vernier/exec/planning/plan_slots.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/op_def.h"

namespace vernier {

ResizablePlan::ResizablePlan(std::shared_ptr<const Plan> like, const Backends& backends,
                             PackedConstants& packed, const PlanChoices& choices, KernelCache* cache)
    : like_(std::move(like)),
      backends_(backends),
      packed_(packed),
      choices_(choices),
      kernels_(backends_, plan_.choices, no_choice_, cache) {
  plan_.graph = like_->graph;
  plan_.steps = like_->steps;
  plan_.inputs = like_->inputs;
  plan_.outputs = like_->outputs;
  plan_.devices = like_->devices;
  plan_.streams = like_->streams;
  plan_.end_waits = like_->end_waits;
  plan_.choices = like_->choices;
}

bool ResizablePlan::resize(const ResizedNodes& nodes) {
  if (!like_->has_graph()) return false;
  if (nodes_ == nullptr) {
    nodes_ = &nodes;
    begin();
  }
  plan_.renew();
  forget_places();
  shared_.clear();
  for (const Value* value : nodes.changed_values) {
    if (in_programs_.contains(value)) return false;
    const auto found = slots_.find(value);
    if (found == slots_.end()) continue;
    for (const SlotId id : found->second) {
      if (!resize(slot(id), before(id))) return false;
    }
  }
  for (size_t i = 0; i < like_->views.size(); ++i) {
    if (!resize(like_->views[i], view_copies_[i])) return false;
  }
  for (const SeparatedGroup& group : like_->separated) {
    if (is_one_step(group)) return false;
  }
  for (const CopiedStep& copied : steps_) {
    if (!resize(copied)) return false;
  }
  for (const size_t step : reorders_) resize_reorder(plan_.steps[step], like_->steps[step]);
  place_slots(plan_);
  return true;
}

// The copies take the place of the originals.
void ResizablePlan::begin() {
  plan_.resized = nodes_->graph;
  plan_.regions = like_->regions;
  for (const auto& [region, program] : like_->regions) {
    for (const Value* value : captured_values(*region)) {
      if (value->is_constant()) in_programs_.insert(value);
    }
  }
  plan_.slots = like_->unplaced;
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    const auto found = nodes_->values.find(plan_.slots[i].value);
    if (found == nodes_->values.end()) continue;
    slots_[found->first].push_back(static_cast<SlotId>(i));
    plan_.slots[i].value = found->second;
  }
  for (const SlotView& view : like_->views) view_copies_.push_back(copy_of(*view.node));
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    Step& step = plan_.steps[i];
    if (step.copies) continue;
    if (step.node == nullptr) {
      reorders_.push_back(i);
    } else if (const Node* copy = copy_of(*step.node)) {
      const Tactic* tactic = tactic_of(*copy);
      steps_.push_back({i, copy, part_offsets(*step.node).has_value(), tactic,
                        signature_of(*copy, tactic == nullptr ? "" : tactic->second)});
      if (!step.captured.empty()) begin_regions(step, *copy);
      step.node = copy;
    }
  }
}

// The regions of a copy run by the programs of those that they are copies of.
void ResizablePlan::begin_regions(Step& step, const Node& copy) {
  const auto captured = std::move(step.captured);
  step.captured.clear();
  for (size_t r = 0; r < copy.regions.size(); ++r) {
    const Graph *before = step.node->regions[r].second.get(), *region = copy.regions[r].second.get();
    plan_.regions[region] = like_->regions.at(before);
    step.captured[region] = captured.at(before);
  }
}

// As place_slots found them.
void ResizablePlan::forget_places() {
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    Slot& slot = plan_.slots[i];
    const Slot& before = like_->unplaced[i];
    slot.home = before.home;
    slot.storage = before.storage;
    slot.within = before.within;
    slot.offset = before.offset;
  }
  for (Step& step : plan_.steps) step.dead.clear();
}

const Node* ResizablePlan::copy_of(const Node& node) const {
  const auto found = nodes_->nodes.find(&node);
  return found == nodes_->nodes.end() ? nullptr : found->second;
}

bool ResizablePlan::resize(Slot& slot, const Slot& before) {
  auto operand = operand_of(*slot.value);
  if (operand.has_value() != before.known) return false;
  if (!operand) return true;
  operand->layout = before.operand.layout;
  operand->capacity = before.operand.capacity;
  if (operand->layout == Layout::kCache && !fits_cache(*operand, *operand)) return false;
  if (before.home == Slot::Home::kConstant) set_constant(slot, *slot.value->constant, plan_, backends_);
  if (before.operand.constant == nullptr) operand->constant = nullptr;
  slot.operand = std::move(*operand);
  return true;
}

bool ResizablePlan::resize(const SlotView& view, const Node* copy) {
  Slot& made = slot(view.slot);
  const Slot& base = slot(view.base);
  size_t offset = before(view.slot).within - before(view.base).within;
  if (copy != nullptr) {
    if ((ops::OpRegistry::instance().require(*copy).traits & ops::kView) != 0) {
      if (base.operand.size() != made.operand.size()) return false;
    } else if (const auto offsets = part_offsets(*copy)) {
      offset = static_cast<size_t>((*offsets)[view.output]) * element_size(made.operand.element);
      if (!serves_where_it_lies(base.device, offset)) return false;
    } else {
      return false;
    }
  }
  made.storage = base.storage;
  made.within = base.within + offset;
  return true;
}

bool ResizablePlan::resize(const CopiedStep& copied) {
  Step& step = plan_.steps[copied.index];
  const Step& before = like_->steps[copied.index];
  const Node& node = *copied.node;
  if (!nodes_->changed.contains(&node)) return true;
  if (part_offsets(node).has_value() != copied.is_part) return false;
  if (step.by_reference || step.found.size() != node.inputs.size()) return true;
  auto request = request_at(node, step.found, plan_, packed_);
  if (!request) return true;
  request->like = before.kernel.get();
  const SharedKernels::Made& found = kernel_of(copied, std::move(*request));
  step.kernel = found.kernel;
  if ((step.kernel == nullptr) != (before.kernel == nullptr)) return false;
  if (step.kernel == nullptr) return true;
  if (!computes_like(*step.kernel, *before.kernel)) computes_alike_ = false;
  return found.device == step.device && lies_as(step, found.request);
}

const ResizablePlan::Tactic* ResizablePlan::tactic_of(const Node& node) const {
  const Value* made = node.output(0);
  const auto found = made == nullptr ? choices_.tactics.end() : choices_.tactics.find(made->name);
  return found == choices_.tactics.end() ? nullptr : &*found;
}

const SharedKernels::Made& ResizablePlan::kernel_of(const CopiedStep& copied, KernelRequest request) {
  if (const SharedKernels::Made* given = shared_.find(copied.signature, request)) {
    if (given->by_tactic)
      plan_.choices.tactics.insert(*copied.tactic);
    else if (copied.tactic != nullptr)
      plan_.choices.tactics.erase(copied.tactic->first);
    return *given;
  }
  SharedKernels::Made asked{copied.signature, request.inputs, request.outputs, std::move(request)};
  asked.device = ask(asked.request, plan_.steps[copied.index].found, copied.tactic, asked.kernel);
  asked.by_tactic = copied.tactic != nullptr && plan_.choices.tactics.contains(copied.tactic->first);
  return shared_.add(std::move(asked));
}

int ResizablePlan::ask(KernelRequest& request, const std::vector<SlotId>& found, const Tactic* tactic,
                       std::shared_ptr<const Kernel>& kernel) {
  std::string reason;
  // At the other sizes a tactic may have been left out that did not serve there.
  if (tactic != nullptr) plan_.choices.tactics.insert(*tactic);
  for (int device = kHost + 1; device < static_cast<int>(plan_.devices.size()); ++device) {
    KernelRequest asked = request_on(device, request, found, plan_);
    kernel = kernels_.of_accelerator(device, asked, reason);
    if (!kernel) continue;
    request.inputs = std::move(asked.inputs);
    request.outputs = std::move(asked.outputs);
    return device;
  }
  KernelRequest on_host = request_on(kHost, request, found, plan_);
  request.inputs = std::move(on_host.inputs);
  request.outputs = std::move(on_host.outputs);
  kernel = kernels_.of_host(request, reason);
  return kHost;
}

bool ResizablePlan::is_one_step(const SeparatedGroup& group) {
  const Node* node = copy_of(*group.node);
  if (node == nullptr || !nodes_->changed.contains(node)) return false;
  auto request = request_at(*node, group.found, plan_, packed_);
  if (!request) return false;
  std::shared_ptr<const Kernel> kernel;
  ask(*request, group.found, tactic_of(*node), kernel);
  return kernel != nullptr;
}

void ResizablePlan::resize_reorder(Step& step, const Step& before) {
  const Operand &from = slot(step.inputs[0]).operand, &to = slot(step.outputs[0]).operand;
  step.kernel = from.dims == this->before(step.inputs[0]).operand.dims
                    ? before.kernel
                    : std::shared_ptr<const Kernel>(make_reorder(backends_, step.device, from, to));
}

bool ResizablePlan::lies_as(const Step& step, const KernelRequest& request) {
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const SlotId id = step.inputs[i];
    const bool reads = step.node->inputs[i] != nullptr && step.kernel->reads(i);
    if (reads != (id != kNoSlot) || (reads && request.in(i).layout != slot(id).operand.layout)) return false;
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const SlotId id = step.outputs[i];
    if (id != kNoSlot && request.out(i).layout != slot(id).operand.layout) return false;
  }
  return true;
}

}  // namespace vernier
