// Moves transposes behind the operators that read them, where more transposes go by that than come: two that
// cancel, at both ends of a region of operators that do not care for the order of axes, or can be told
// another axis. Only the operators are moved here; `merge-transposes` then finds the pairs side by side.
#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/movement/permutation.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

using Permutation = std::vector<size_t>;

// The axis that an operator works along, from its attribute; those without one have none.
struct AxisRule {
  std::string_view op;
  int64_t since;
};
constexpr AxisRule kAlongAxis[] = {{"Concat", 4}, {"Softmax", 13}, {"LogSoftmax", 13}};

const AxisRule* axis_rule(const Node& node) {
  for (const AxisRule& rule : kAlongAxis) {
    if (rule.op == node.op && node.version >= rule.since) return &rule;
  }
  return nullptr;
}

// A reduction along one axis, which stays: its sums have the same order.
bool is_reduction_along_one(const Node& node) {
  return node.op.starts_with("Reduce") && ops::integer_attribute(node, "keepdims") != 0 &&
         node.input(1) != nullptr && node.input(1)->is_constant() && node.input(1)->constant->size() == 1;
}

bool is_pointwise(const Node& node) {
  static const std::set<std::string_view> others{"QuantizeLinear", "DequantizeLinear", "BitCast", "CastLike"};
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && (def->traits & ops::kPointwise) != 0 && !others.contains(node.op) &&
         node.find_attribute("axis") == nullptr && node.find_attribute("broadcast") == nullptr;
}

size_t operand_count(const Node& node) {
  return is_reduction_along_one(node) ? 1 : node.inputs.size();
}

// Whether the operator can work on operands of this rank in another order of axes.
bool is_movable(const Node* node, size_t rank) {
  if (node == nullptr || !node->domain.empty() || node->outputs.size() != 1 || !node->regions.empty() ||
      known_rank(*node->output(0)) != rank)
    return false;
  const bool along = axis_rule(*node) != nullptr || is_reduction_along_one(*node);
  if (!along && !is_pointwise(*node)) return false;
  for (size_t i = 0; i < operand_count(*node); ++i) {
    const Value* operand = node->input(i);
    if (operand == nullptr) continue;
    const auto own = known_rank(*operand);
    if (!own || *own > rank || (*own < rank && (along || !operand->is_constant()))) return false;
    if (operand->is_constant() && operand->constant->type() == ElementType::kString) return false;
  }
  return true;
}

class Region {
 public:
  Region(const Uses& uses, Permutation perm) : uses_(uses), perm_(std::move(perm)), back_(inverse(perm_)) {}

  // Whether more transposes go than come. `seed` is a Transpose.
  bool pays(const Node& seed) {
    for (Node* reader : uses_.readers(seed.output(0))) add(reader);
    while (!open_.empty()) {
      const Node* node = open_.back();
      open_.pop_back();
      for (size_t i = 0; i < operand_count(*node); ++i) {
        if (node->input(i) != nullptr && !node->input(i)->is_constant()) add_operand(*node->input(i));
      }
      for (Node* reader : uses_.readers(node->output(0))) add(reader);
    }
    return balance() > 0;
  }

  const std::set<const Node*>& inside() const { return inside_; }

 private:
  void add(Node* node) {
    if (!is_movable(node, perm_.size()) || !inside_.insert(node).second) return;
    open_.push_back(node);
  }

  void add_operand(const Value& operand) {
    Node* producer = operand.producer();
    if (producer != nullptr && is_movable(producer, perm_.size()) && transposition(producer) != perm_)
      add(producer);
    operands_.insert(&operand);
  }

  bool is_inside(const Node* node) const { return node != nullptr && inside_.contains(node); }

  int balance() const {
    int gone = 0;
    for (const Value* operand : operands_) {
      if (is_inside(operand->producer())) continue;
      if (transposition(operand->producer()) != perm_) {
        --gone;
        continue;
      }
      const auto readers = uses_.readers(operand);
      if (std::all_of(readers.begin(), readers.end(), [&](const Node* node) { return is_inside(node); }))
        ++gone;
    }
    for (const Node* node : inside_) {
      bool comes = false;
      for (const Node* reader : uses_.readers(node->output(0))) {
        if (is_inside(reader)) continue;
        const bool cancels = transposition(reader) == back_;
        gone += cancels ? 1 : 0;
        comes = comes || !cancels;
      }
      gone -= comes ? 1 : 0;
    }
    return gone;
  }

  const Uses& uses_;
  Permutation perm_, back_;
  std::set<const Node*> inside_;
  std::set<const Value*> operands_;
  std::vector<const Node*> open_;
};

Tensor transposed(const Tensor& tensor, const Permutation& perm) {
  Dims dims(perm.size() - tensor.dims().size(), 1);
  dims.insert(dims.end(), tensor.dims().begin(), tensor.dims().end());
  const Dims sizes = ops::permuted(dims, perm);
  Tensor result(tensor.type(), sizes);
  ops::copy_placed(tensor, {0, ops::permuted(ops::strides_of(dims), perm)}, result, ops::dense(sizes), sizes);
  return result;
}

// Puts the operators of a region in front of the transposes.
class Mover {
 public:
  Mover(Graph& graph, Permutation perm) : graph_(graph), perm_(std::move(perm)), back_(inverse(perm_)) {}

  void move(Node* node) {
    std::vector<std::unique_ptr<Node>> made;
    ValueMap same;
    auto moved = clone(*node, same, &graph_);
    for (size_t i = 0; i < operand_count(*node); ++i) {
      if (moved->inputs[i] != nullptr) moved->inputs[i] = untransposed(moved->inputs[i], made);
    }
    move_axis(*moved);
    Value* to = node->output(0);
    Value* result = before_[to] = add_untransposed(*to);
    moved->outputs = {result};
    made.push_back(std::move(moved));
    made.push_back(make_transpose(result, perm_, to));
    made.back()->name = result->name + "/transpose";
    Rewriter(graph_).replace({node}, std::move(made));
  }

 private:
  // The value of which this one is the transposition.
  Value* untransposed(Value* value, std::vector<std::unique_ptr<Node>>& made) {
    if (const auto found = before_.find(value); found != before_.end()) return found->second;
    Value*& result = before_[value];
    if (value->is_constant())
      return result = graph_.add_constant(free_name(graph_, value->name + "/moved"),
                                          transposed(*value->constant, back_));
    if (transposition(value->producer()) == perm_) return result = value->producer()->input(0);
    result = add_untransposed(*value);
    made.push_back(make_transpose(value, back_, result));
    return result;
  }

  Value* add_untransposed(const Value& value) {
    return graph_.add_value(
        free_name(graph_, value.name + "/moved"),
        ValueType::of(value.type.tensor.element, ops::permuted(*value.type.tensor.shape, back_)));
  }

  void move_axis(Node& node) {
    const auto rank = static_cast<int64_t>(perm_.size());
    const auto moved = [&](int64_t axis) {
      return static_cast<int64_t>(perm_[static_cast<size_t>(ops::normalize_axis(axis, rank))]);
    };
    if (axis_rule(node) != nullptr) {
      node.attributes.insert_or_assign("axis", moved(ops::integer_attribute(node, "axis")));
    } else if (is_reduction_along_one(node)) {
      const int64_t axis = moved(node.input(1)->constant->to_ints()[0]);
      node.inputs[1] =
          graph_.add_constant(free_name(graph_, node.output(0)->name + "/axis"),
                              Tensor::from_ints(ElementType::kInt64, {1}, std::vector<int64_t>{axis}));
    }
  }

  Graph& graph_;
  Permutation perm_, back_;
  std::map<const Value*, Value*> before_;
};

// Moves the first region that pays; false if there is none.
bool sink_one(Graph& graph) {
  const Uses uses(graph);
  for (const auto& seed : graph.nodes()) {
    const auto perm = transposition(seed.get());
    if (!perm || std::is_sorted(perm->begin(), perm->end())) continue;
    Region region(uses, *perm);
    if (!region.pays(*seed)) continue;
    std::vector<Node*> nodes;
    for (const auto& node : graph.nodes()) {
      if (region.inside().contains(node.get())) nodes.push_back(node.get());
    }
    Mover mover(graph, *perm);
    for (Node* node : nodes) mover.move(node);
    return true;
  }
  return false;
}

int count_transposes(const Graph& graph) {
  int64_t count = 0;
  for_each_graph(graph, [&](const Graph& inner) {
    count += std::count_if(inner.nodes().begin(), inner.nodes().end(),
                           [](const auto& node) { return node->op == "Transpose"; });
  });
  return static_cast<int>(count);
}

// Each time fewer transposes are left, once the pairs are merged.
int sink_all(Graph& graph) {
  int sunk = 0;
  for (int left = count_transposes(graph); left > 0; --left) {
    bool moved = false;
    for_each_graph(graph, [&](Graph& inner) { moved = moved || sink_one(inner); });
    if (!moved) break;
    ++sunk;
    run_passes(graph, {merge_transposes(), remove_dead_code()}, {});
  }
  return sunk;
}

}  // namespace

Pass sink_transposes() {
  return {"sink-transposes", NumericalClass::kExact, sink_all};
}

}  // namespace vernier
