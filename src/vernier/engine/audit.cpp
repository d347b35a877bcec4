#include "vernier/engine/audit.h"

#include "vernier/ops/group.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

using How = ExecutedPrecision::How;

class Auditor {
 public:
  Auditor(const Plan& plan, const PrecisionPlan& requested, const std::set<std::string>& nodes)
      : plan_(plan), requested_(requested), nodes_(nodes) {}

  PrecisionAudit run() {
    for (const Step& step : plan_.steps) {
      if (step.node != nullptr) add_step(step);
    }
    // What is in the graph but takes no step is a view; the rest is gone.
    for (const auto& node : plan_.graph->nodes()) add_rest(*node);
    for (const std::string& name : nodes_) {
      if (!seen_.contains(name)) add_row(name, "", {How::kFolded, "", {}, {}, {}, {}}, requested_.find(name));
    }
    return std::move(audit_);
  }

 private:
  static bool is_one_kernel(const Step& step) { return step.kernel && ops::is_group(*step.node); }

  void add_step(const Step& step) {
    if (!is_one_kernel(step)) return add_node(*step.node, executed_by(step, *step.node, step.node->outputs));
    add_members(step, *step.node, ops::body(*step.node).outputs);
  }

  // Those of groups in the group, too.
  void add_members(const Step& step, const Node& group, const std::vector<Value*>& stored) {
    for (const auto& node : ops::body(group).nodes()) {
      if (ops::is_group(*node))
        add_members(step, *node, stored);
      else
        add_node(*node, executed_by(step, *node, stored));
    }
  }

  // `stored` are the values that the outputs of the step are.
  ExecutedPrecision executed_by(const Step& step, const Node& node, const std::vector<Value*>& stored) const {
    ExecutedPrecision result;
    const auto found = std::find(stored.begin(), stored.end(), main_output(node));
    const auto output = static_cast<size_t>(found - stored.begin());
    const SlotId slot = output < step.outputs.size() ? step.outputs[output] : kNoSlot;
    if (slot != kNoSlot && plan_.slots[static_cast<size_t>(slot)].known)
      result.store = plan_.slots[static_cast<size_t>(slot)].operand.element;
    if (step.kernel) {
      const NumericsContract& contract = step.kernel->contract;
      result.kernel = step.kernel->name;
      result.compute = contract.computed;
      result.accumulate = contract.accumulated;
      // What surrounds a product of integers, or of narrow floats, in its kernel is computed in floats.
      const bool narrow =
          contract.computed != ElementType::kUndefined && !holds(contract.computed, ElementType::kFloat);
      if (narrow && is_one_kernel(step) && class_of(node).lowering != Lowering::kAlways) {
        result.compute = ElementType::kFloat;
        if (is_integer(contract.computed)) result.accumulate = ElementType::kUndefined;
      }
      if (output == 0) result.said = contract.stored;  // contracts are about the first output
      return result;
    }
    result.how = node.regions.empty() ? How::kReference : How::kRegion;
    result.kernel = node.regions.empty() ? "reference" : "";
    result.compute = ElementType::kDouble;
    return result;
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

  // Casts and quantisation that the plan itself put in are not nodes of the model.
  bool is_added(const Node& node) const {
    return (node.op == "Cast" || node.op == "QuantizeLinear" || node.op == "DequantizeLinear") &&
           !nodes_.contains(node.name);
  }

  void add_node(const Node& node, const ExecutedPrecision& executed) {
    if (is_added(node)) return;
    const auto requested = requested_of(node);
    for (const std::string& name : onnx_nodes(node))
      add_row(name, node.op, executed, requested ? &*requested : nullptr);
  }

  // A contraction that stands for several nodes is typed by what it multiplies: by the plan, the nodes
  // between its products round to what they store.
  std::optional<LayerPrecision> requested_of(const Node& node) const {
    auto requested = requested_.strictest(node);
    if (!requested || class_of(node).lowering != Lowering::kAlways) return requested;
    for (const std::string& name : onnx_nodes(node)) {
      const LayerPrecision* layer = requested_.find(name);
      if (layer != nullptr && layer->compute == requested->store) requested->compute = layer->compute;
    }
    return requested;
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

PrecisionAudit audit_precision(const Plan& plan, const PrecisionPlan& requested,
                               const std::set<std::string>& nodes) {
  return Auditor(plan, requested, nodes).run();
}

}  // namespace vernier
