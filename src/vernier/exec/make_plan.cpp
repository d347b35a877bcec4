#include <atomic>

#include "vernier/exec/part_offsets.h"
#include "vernier/exec/place_slots.h"
#include "vernier/exec/program.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

// The type of a value for a kernel, if it is a tensor of known sizes.
std::optional<Operand> operand_of(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape) return std::nullopt;
  const auto dims = to_dims(*value.type.tensor.shape);
  if (!dims || value.type.tensor.element == ElementType::kString ||
      value.type.tensor.element == ElementType::kUndefined)
    return std::nullopt;
  return Operand{value.type.tensor.element, *dims, Layout::kPlain,
                 value.is_constant() ? &*value.constant : nullptr};
}

constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16};

class PlanMaker {
 public:
  PlanMaker(std::unique_ptr<Graph> graph, const Backend& kernels, const CompileRegion& compile_region,
            PackedConstants& packed, const PlanChoices& choices, const ChooseTactic& choose,
            KernelCache* cache)
      : kernels_(kernels), compile_region_(compile_region), packed_(packed), choose_(choose), cache_(cache) {
    plan_.graph = std::move(graph);
    plan_.choices = choices;
  }

  Plan make() {
    const Graph& graph = *plan_.graph;
    for (const Value* input : graph.inputs) plan_.inputs.push_back(add_slot(*input, Slot::Home::kInput));
    for (const auto& node : graph.nodes()) add_node(*node);
    for (const Value* output : graph.outputs) plan_.outputs.push_back(plain_slot(*output));
    place_slots(plan_);
    return std::move(plan_);
  }

 private:
  SlotId add_slot(const Value& value, Slot::Home home, Layout layout = Layout::kPlain) {
    const auto id = static_cast<SlotId>(plan_.slots.size());
    Slot slot;
    slot.value = &value;
    const auto operand = operand_of(value);
    slot.known = operand.has_value();
    if (operand) slot.operand = *operand;
    slot.operand.layout = layout;
    slot.home = slot.known || home == Slot::Home::kInput ? home : Slot::Home::kMade;
    if (home == Slot::Home::kConstant) {
      slot.home = home;
      slot.constant = *value.constant;
    } else {
      slot.operand.constant = nullptr;  // an input may have a default that is not what comes
    }
    slot.storage = id;
    plan_.slots.push_back(std::move(slot));
    slots_[{&value, layout}] = id;
    return id;
  }

  SlotId find(const Value& value, Layout layout) const {
    const auto found = slots_.find({&value, layout});
    return found == slots_.end() ? kNoSlot : found->second;
  }

  // The slot that the value was made in.
  SlotId any_slot(const Value& value) {
    for (const Layout layout : kLayouts) {
      if (const SlotId found = find(value, layout); found != kNoSlot) return found;
    }
    if (!value.is_constant()) throw internal_error("value '{}' is read before it is made", value.name);
    return add_slot(value, Slot::Home::kConstant);
  }

  SlotId slot_in(const Value& value, Layout layout) {
    if (const SlotId found = find(value, layout); found != kNoSlot) return found;
    const SlotId from = any_slot(value);
    if (plan_.slots[static_cast<size_t>(from)].operand.layout == layout) return from;
    Step step;
    step.kernel = kernels_.reorder(plan_.slots[static_cast<size_t>(from)].operand, layout);
    const SlotId to = add_slot(value, Slot::Home::kArena, layout);
    step.inputs = {from};
    step.outputs = {to};
    plan_.steps.push_back(std::move(step));
    return to;
  }

  SlotId plain_slot(const Value& value) { return slot_in(value, Layout::kPlain); }
  Slot& slot(SlotId id) { return plan_.slots[static_cast<size_t>(id)]; }

  void add_node(const Node& node) {
    if (add_view(node)) return;
    if (ops::is_group(node) && is_apart(node)) return add_members(node);
    Step step;
    step.node = &node;
    if (!node.regions.empty() && !ops::is_group(node)) {
      step.reason = "control flow";
      add_regions(node, step);
    } else if (const auto request = request_for(node)) {
      KernelRequest laid_out = *request;
      kernels_.choose_layouts(laid_out);
      choose_tactic(laid_out);
      step.kernel = make_kernel(laid_out, step.reason);
      if (!step.kernel && !laid_out.tactic.empty() && laid_out.tactic != kReferenceTactic) {
        drop_tactic(laid_out);
        step.kernel = make_kernel(laid_out, step.reason);
      }
      if (!step.kernel && laid_out.tactic != kReferenceTactic) {
        // Perhaps in plain memory.
        for (auto* operands : {&laid_out.inputs, &laid_out.outputs}) {
          for (auto& operand : *operands) {
            if (operand) operand->layout = Layout::kPlain;
          }
        }
        step.kernel = make_or_find(laid_out, step.reason);
      }
      if (step.kernel) return add_kernel_step(std::move(step), laid_out);
      step.by_reference = laid_out.tactic == kReferenceTactic;
    } else {
      step.reason = "its sizes, or its type, are known only when it runs";
    }
    if (ops::is_group(node)) return add_members(node);
    for (const Value* input : node.inputs)
      step.inputs.push_back(input == nullptr ? kNoSlot : plain_slot(*input));
    for (const Value* output : node.outputs)
      step.outputs.push_back(output == nullptr ? kNoSlot : add_slot(*output, Slot::Home::kMade));
    plan_.steps.push_back(std::move(step));
  }

  bool is_apart(const Node& group) const {
    const auto found = plan_.choices.apart.find(group.output(0)->name);
    return found != plan_.choices.apart.end() && depth_ < found->second;
  }

  void choose_tactic(KernelRequest& request) {
    const Value* made = request.node.output(0);
    if (made == nullptr) return;
    auto found = plan_.choices.tactics.find(made->name);
    if (found == plan_.choices.tactics.end() && choose_) {
      std::string chosen = choose_(request);
      if (!chosen.empty()) found = plan_.choices.tactics.emplace(made->name, std::move(chosen)).first;
    }
    if (found != plan_.choices.tactics.end()) request.tactic = found->second;
  }

  // A tactic that was chosen at other sizes may not serve at these: then the backend chooses.
  void drop_tactic(KernelRequest& request) {
    plan_.choices.tactics.erase(request.node.output(0)->name);
    request.tactic = {};
  }

  std::shared_ptr<const Kernel> make_or_find(const KernelRequest& request, std::string& reason) const {
    const auto make = [&] { return kernels_.make(request, reason); };
    return cache_ == nullptr ? make() : cache_->get(request, make);
  }

  std::shared_ptr<const Kernel> make_kernel(const KernelRequest& request, std::string& reason) const {
    if (request.tactic != kReferenceTactic) return make_or_find(request, reason);
    reason = "its kernels are in quarantine: they differ from the reference, or did not end their trial";
    return nullptr;
  }

  // A group that no kernel computes as one: its nodes, one by one.
  void add_members(const Node& group) {
    const Graph& body = ops::body(group);
    int& levels = plan_.choices.apart[group.output(0)->name];
    levels = std::max(levels, depth_ + 1);
    for (size_t i = 0; i < body.inputs.size(); ++i) alias(*group.inputs[i], *body.inputs[i]);
    ++depth_;
    for (const auto& node : body.nodes()) add_node(*node);
    --depth_;
    for (size_t i = 0; i < body.outputs.size(); ++i) alias(*body.outputs[i], *group.outputs[i]);
  }

  // `other` is what `value` is.
  void alias(const Value& value, const Value& other) {
    any_slot(value);
    for (const Layout layout : kLayouts) {
      if (const SlotId found = find(value, layout); found != kNoSlot) slots_[{&other, layout}] = found;
    }
  }

  void add_regions(const Node& node, Step& step) {
    for (const auto& [name, region] : node.regions) {
      plan_.regions[region.get()] = compile_region_(close_region(*region));
      auto& captured = step.captured[region.get()];
      for (const Value* value : captured_values(*region)) {
        if (!value->is_constant()) captured.push_back(plain_slot(*value));
      }
    }
  }

  // A view of a plain tensor of known sizes takes no step: new sizes, or a part that lies together.
  bool add_view(const Node& node) {
    const auto* def = ops::OpRegistry::instance().find(node);
    if (def == nullptr || node.input(0) == nullptr) return false;
    const auto source = operand_of(*node.input(0));
    if (!source) return false;
    if ((def->traits & ops::kView) != 0 && node.outputs.size() == 1 && node.output(0) != nullptr) {
      const auto target = operand_of(*node.output(0));
      if (!target || source->element != target->element || source->size() != target->size()) return false;
      view(plain_slot(*node.input(0)), *node.output(0), 0);
      return true;
    }
    const auto offsets = part_offsets(node);
    // A part of an image in another layout is cut out of that.
    if (!offsets || slot(any_slot(*node.input(0))).operand.layout != Layout::kPlain) return false;
    const SlotId whole = plain_slot(*node.input(0));
    for (size_t i = 0; i < offsets->size(); ++i)
      view(whole, *node.outputs[i], static_cast<size_t>((*offsets)[i]) * element_size(source->element));
    return true;
  }

  void view(SlotId base, const Value& value, size_t offset) {
    const SlotId made = add_slot(value, Slot::Home::kArena);
    slot(made).storage = slot(base).storage;
    slot(made).within = slot(base).within + offset;
    slot(made).home = slot(slot(base).storage).home;
  }

  std::optional<KernelRequest> request_for(const Node& node) {
    KernelRequest request{node, {}, {}, &packed_, plan_.choices.images};
    for (const Value* input : node.inputs) {
      if (input == nullptr) {
        request.inputs.emplace_back(std::nullopt);
        continue;
      }
      if (!operand_of(*input)) return std::nullopt;
      request.inputs.push_back(input->is_constant() && find(*input, Layout::kPlain) == kNoSlot
                                   ? operand_of(*input)
                                   : slot(any_slot(*input)).operand);
    }
    for (const Value* output : node.outputs) {
      if (output != nullptr && !operand_of(*output)) return std::nullopt;
      request.outputs.push_back(output == nullptr ? std::nullopt : operand_of(*output));
    }
    return request;
  }

  void add_kernel_step(Step step, const KernelRequest& request) {
    const Node& node = *step.node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool reads = node.inputs[i] != nullptr && step.kernel->reads(i);
      step.inputs.push_back(reads ? slot_in(*node.inputs[i], request.in(i).layout) : kNoSlot);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      step.outputs.push_back(node.outputs[i] == nullptr
                                 ? kNoSlot
                                 : add_slot(*node.outputs[i], Slot::Home::kArena, request.out(i).layout));
    }
    plan_.steps.push_back(std::move(step));
  }

  const Backend& kernels_;
  const CompileRegion& compile_region_;
  PackedConstants& packed_;
  const ChooseTactic& choose_;
  KernelCache* cache_;
  Plan plan_;
  std::map<std::pair<const Value*, Layout>, SlotId> slots_;
  int depth_ = 0;  // groups around the node at hand
};

}  // namespace

namespace {
std::atomic<uint64_t> plans_made{0};
}

Plan::Plan() : id(++plans_made) {}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

bool Plan::fills_storage(SlotId id) const {
  const Slot& slot = slots[static_cast<size_t>(id)];
  return slot.within == 0 && slot.bytes() == slots[static_cast<size_t>(slot.storage)].bytes();
}

size_t Slot::bytes() const {
  if (!known) return 0;
  return static_cast<size_t>(element_count(physical_dims(operand.dims, operand.layout))) *
         element_size(operand.element);
}

Plan make_plan(std::unique_ptr<Graph> graph, const Backend& kernels, const CompileRegion& compile_region,
               PackedConstants& packed, const PlanChoices& choices, const ChooseTactic& choose,
               KernelCache* cache) {
  return PlanMaker(std::move(graph), kernels, compile_region, packed, choices, choose, cache).make();
}

}  // namespace vernier
