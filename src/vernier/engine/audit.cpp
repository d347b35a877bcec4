#include "vernier/engine/audit.h"

#include "vernier/ops/group.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

using How = ExecutedPrecision::How;

// Whether the reference gives elements that the node reads, in the type that they have already: then it is
// no place at which the engine narrows anything, not even where passes made the node one of quantized values.
bool hands_on(const Node& node, ElementType stored) {
  return selects_elements(node) &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
           return stored != ElementType::kUndefined && element_of(input) == stored;
         });
}

// Reads how a node, or a group of nodes, is executed: by a kernel, or the reference.
class StepPrecision {
 public:
  // `stored` are the types of its outputs; kUndefined where it is not known.
  StepPrecision(const Node& node, const Kernel* kernel, std::vector<ElementType> stored)
      : node_(node), kernel_(kernel), stored_(std::move(stored)) {}

  // Calls with each node that it stands for, those of groups in the group, too, and how that is executed.
  template <class Visit>
  void for_each(const Visit& visit) const {
    if (is_one_kernel())
      visit_members(node_, ops::body(node_).outputs, visit);
    else
      visit(node_, executed(node_, node_.outputs));
  }

 private:
  bool is_one_kernel() const { return kernel_ != nullptr && ops::is_group(node_); }

  template <class Visit>
  void visit_members(const Node& group, const std::vector<Value*>& outputs, const Visit& visit) const {
    for (const auto& node : ops::body(group).nodes()) {
      if (ops::is_group(*node))
        visit_members(*node, outputs, visit);
      else
        visit(*node, executed(*node, outputs));
    }
  }

  // `outputs` are the values that the outputs of the step are.
  ExecutedPrecision executed(const Node& node, const std::vector<Value*>& outputs) const {
    ExecutedPrecision result;
    const auto found = std::find(outputs.begin(), outputs.end(), main_output(node));
    const auto output = static_cast<size_t>(found - outputs.begin());
    if (output < stored_.size()) result.store = stored_[output];
    if (kernel_ == nullptr) {
      result.how = node.regions.empty() ? How::kReference : How::kRegion;
      result.kernel = node.regions.empty() ? "reference" : "";
      if (!hands_on(node, result.store)) result.compute = ElementType::kDouble;
      return result;
    }
    const NumericsContract& contract = kernel_->contract;
    result.kernel = kernel_->name;
    result.compute = contract.computed;
    result.accumulate = contract.accumulated;
    result.tf32 = contract.operands == OperandFormat::tf32() && class_of(node).lowering == Lowering::kAlways;
    // The nodes around a product of integers, or of narrow floats, are computed in floats by its kernel.
    const bool narrow =
        contract.computed != ElementType::kUndefined && !holds(contract.computed, ElementType::kFloat);
    if (narrow && is_one_kernel() && class_of(node).lowering != Lowering::kAlways) {
      result.compute = ElementType::kFloat;
      if (is_integer(contract.computed)) result.accumulate = ElementType::kUndefined;
    }
    if (output == 0) result.said = contract.stored;  // contracts are about the first output
    return result;
  }

  const Node& node_;
  const Kernel* kernel_;
  std::vector<ElementType> stored_;
};

// Casts and quantization that a plan itself put in are not nodes of the model.
bool is_added(const Node& node, const std::set<std::string>& nodes) {
  return (node.op == "Cast" || node.op == "QuantizeLinear" || node.op == "DequantizeLinear") &&
         !nodes.contains(node.name);
}

// A contraction that stands for several nodes is typed by what it multiplies: by the plan, the nodes between
// its products round to what they store. A quantization that stands for others, too, such as a transposition
// of what it makes which turned out to move nothing, stores what a quantization does.
std::optional<LayerPrecision> requested_of(const Node& node, const PrecisionPlan& plan) {
  if (node.op == "QuantizeLinear") {
    for (const std::string& name : onnx_nodes(node)) {
      const LayerPrecision* layer = plan.find(name);
      if (layer != nullptr && layer->store == element_of(main_output(node))) return *layer;
    }
  }
  auto requested = plan.strictest(node);
  if (!requested || class_of(node).lowering != Lowering::kAlways) return requested;
  for (const std::string& name : onnx_nodes(node)) {
    const LayerPrecision* layer = plan.find(name);
    if (layer != nullptr && layer->compute == requested->store) requested->compute = layer->compute;
  }
  return requested;
}

class Auditor {
 public:
  Auditor(const Plan& plan, const PrecisionPlan& requested, const std::set<std::string>& nodes)
      : plan_(plan), requested_(requested), nodes_(nodes) {}

  PrecisionAudit run() {
    for (const Step& step : plan_.steps) {
      if (step.node != nullptr) add_step(step);
    }
    // A node that is in the graph but takes no step is a view; the rest is gone.
    for (const auto& node : plan_.graph->nodes()) add_rest(*node);
    for (const std::string& name : nodes_) {
      if (!seen_.contains(name)) add_row(name, "", {How::kFolded, "", {}, {}, {}, {}}, requested_.find(name));
    }
    return std::move(audit_);
  }

 private:
  void add_step(const Step& step) {
    std::vector<ElementType> stored;
    for (const SlotId slot : step.outputs) {
      const bool known = slot != kNoSlot && plan_.slots[static_cast<size_t>(slot)].known;
      stored.push_back(known ? plan_.slots[static_cast<size_t>(slot)].operand.element
                             : ElementType::kUndefined);
    }
    StepPrecision(*step.node, step.kernel.get(), std::move(stored))
        .for_each([this](const Node& node, const ExecutedPrecision& executed) { add_node(node, executed); });
  }

  void add_rest(const Node& node) {
    if (ops::is_group(node)) {
      for (const auto& member : ops::body(node).nodes()) add_rest(*member);
      return;
    }
    for (const auto& [name, region] : node.regions) {
      for (const std::string& inner : onnx_nodes(*region)) {
        if (!seen_.contains(inner))
          add_row(inner, "", {How::kRegion, "", {}, {}, {}, {}}, requested_.find(inner));
      }
    }
    for (const std::string& name : onnx_nodes(node)) {
      if (!seen_.contains(name) && nodes_.contains(name))
        add_row(name, node.op, {How::kView, "", {}, {}, {}, {}}, requested_.find(name));
    }
  }

  void add_node(const Node& node, const ExecutedPrecision& executed) {
    if (is_added(node, nodes_)) return;
    const auto requested = requested_of(node, requested_);
    for (const std::string& name : onnx_nodes(node))
      add_row(name, node.op, executed, requested ? &*requested : nullptr);
  }

  void add_row(const std::string& name, const std::string& op, const ExecutedPrecision& executed,
               const LayerPrecision* requested) {
    if (!seen_.insert(name).second) return;
    AuditRow row{name, op, std::nullopt, executed, ""};
    if (requested != nullptr) {
      row.requested = *requested;
      row.difference = difference(*requested, executed);
    }
    audit_.rows.push_back(std::move(row));
  }

  const Plan& plan_;
  const PrecisionPlan& requested_;
  const std::set<std::string>& nodes_;
  std::set<std::string> seen_;
  PrecisionAudit audit_;
};

}  // namespace

std::string kernel_difference(const Node& node, const Kernel& kernel, const std::vector<ElementType>& stored,
                              const PrecisionPlan& requested, const std::set<std::string>& nodes) {
  std::string first;
  StepPrecision(node, &kernel, stored).for_each([&](const Node& each, const ExecutedPrecision& executed) {
    if (!first.empty() || is_added(each, nodes)) return;
    const auto wanted = requested_of(each, requested);
    const std::string found = wanted ? difference(*wanted, executed) : "";
    if (!found.empty()) first = fmt::format("{} '{}': {}", each.op, each.name, found);
  });
  return first;
}

PrecisionAudit audit_precision(const Plan& plan, const PrecisionPlan& requested,
                               const std::set<std::string>& nodes) {
  return Auditor(plan, requested, nodes).run();
}

}  // namespace vernier
