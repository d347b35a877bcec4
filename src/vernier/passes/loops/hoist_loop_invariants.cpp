// Computes once, before a Loop or Scan, what is the same in every trip. A carried value that the body of a
// Loop gives back as it came is read from around the body; nodes that read only such values move out, if they
// cannot fail: there may be no trip.
#include "vernier/ops/op_def.h"
#include "vernier/passes/build.h"
#include "vernier/passes/loops/loop_body.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr size_t kFirstCarried = 2;

bool is_graph_output(const Value* value) {
  const auto& outputs = value->graph().outputs;
  return std::find(outputs.begin(), outputs.end(), value) != outputs.end();
}

// Whether carried value `index` comes back as it came, so that the Loop need not know of it.
bool stays(const Node& loop, const Graph& body, size_t index) {
  const Value *before = loop.input(kFirstCarried + index), *after = loop.output(index);
  return before != nullptr && body.outputs[1 + index] == body.inputs[kFirstCarried + index] &&
         (after == nullptr || !is_graph_output(after));
}

int remove_unchanged(Node& loop, Graph& body) {
  if (loop.op != "Loop") return 0;
  const size_t carried = loop.inputs.size() < kFirstCarried ? 0 : loop.inputs.size() - kFirstCarried;
  int removed = 0;
  for (size_t i = carried; i-- > 0;) {
    if (!stays(loop, body, i)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    Value *before = loop.inputs[kFirstCarried + i], *inner = body.inputs[kFirstCarried + i];
    body.inputs.erase(body.inputs.begin() + kFirstCarried + at);
    body.outputs.erase(body.outputs.begin() + 1 + at);
    body.replace_uses(inner, before);
    body.remove_values({inner});
    loop.inputs.erase(loop.inputs.begin() + kFirstCarried + at);
    if (i < loop.outputs.size()) {
      Value* after = loop.outputs[i];
      loop.outputs.erase(loop.outputs.begin() + at);
      if (after != nullptr) {
        loop.graph().replace_uses(after, before);
        loop.graph().remove_values({after});
      }
    }
    ++removed;
  }
  return removed;
}

// Whether these sizes broadcast, whatever the symbols are.
bool surely_broadcast(const Shape& a, const Shape& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const Dim &x = a[a.size() - i], &y = b[b.size() - i];
    if (x != y && x != Dim(1) && y != Dim(1)) return false;
  }
  return true;
}

const Shape* shape_of(const Value* value) {
  return value->type.is_tensor() && value->type.tensor.shape ? &*value->type.tensor.shape : nullptr;
}

// Integers may be divided by zero, or shifted too far.
bool divides_integers(const Node& node) {
  static const std::set<std::string_view> dividing{"Div", "Mod", "BitShift", "Pow"};
  return dividing.contains(node.op) && !is_float(node.input(0)->type.tensor.element);
}

bool cannot_fail(const Node& node, const ops::OpDef& def) {
  static const std::set<std::string_view> total{"Cast", "Identity", "Shape", "Size", "Transpose"};
  // These fit, or not, by sizes alone.
  static const std::set<std::string_view> by_sizes{"Split", "Squeeze", "Unsqueeze", "Slice", "MatMul"};
  const bool whole = std::all_of(node.inputs.begin(), node.inputs.end(), [](const Value* input) {
    return input != nullptr && shape_of(input) != nullptr;
  });
  if (!whole || node.inputs.empty()) return false;
  if (total.contains(node.op)) return true;
  if (by_sizes.contains(node.op)) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_matrix = i == 0 || node.op == "MatMul";
      if (is_matrix ? !known_dims(*node.inputs[i]) : !node.inputs[i]->is_constant()) return false;
    }
    return true;
  }
  if ((def.traits & ops::kPointwise) == 0 || node.find_attribute("broadcast") != nullptr ||
      divides_integers(node))
    return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
    return surely_broadcast(*shape_of(node.inputs[0]), *shape_of(input));
  });
}

bool is_movable(const Node& node, const Graph& body) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return def != nullptr && node.domain.empty() && node.regions.empty() &&
         (def->traits & ops::kNondeterministic) == 0 &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Value* input) { return is_invariant(input, body); }) &&
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [](const Value* input) { return !input->is_constant(); }) &&
         cannot_fail(node, *def);
}

// The copy takes the names over; the node of the body is to be removed.
void move_before(Node& loop, Node& node) {
  const Node& copy = *copy_before(loop, node, node.inputs);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == nullptr) continue;
    std::swap(node.outputs[i]->name, copy.outputs[i]->name);
    node.graph().replace_uses(node.outputs[i], copy.outputs[i]);
  }
}

int hoist_from(Node& loop, Graph& body) {
  int rewrites = remove_unchanged(loop, body);
  // In order, so that what reads a node that moved can move, too.
  std::vector<Node*> nodes;
  for (const auto& node : body.nodes()) nodes.push_back(node.get());
  std::set<const Node*> moved;
  std::set<const Value*> gone;
  for (Node* node : nodes) {
    if (!is_movable(*node, body)) continue;
    move_before(loop, *node);
    moved.insert(node);
    gone.insert(node->outputs.begin(), node->outputs.end());
    ++rewrites;
  }
  gone.erase(nullptr);
  body.remove_nodes(moved);
  body.remove_values(gone);
  return rewrites;
}

int hoist_in(Graph& graph) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) nodes.push_back(node.get());
  int rewrites = 0;
  for (Node* node : nodes) {
    // Inner ones first: what leaves them may leave this one, too.
    for (const auto& [name, region] : node->regions) rewrites += hoist_in(*region);
    if (Graph* body = repeated_body(*node)) rewrites += hoist_from(*node, *body);
  }
  return rewrites;
}

}  // namespace

Pass hoist_loop_invariants() {
  return {"hoist-loop-invariants", NumericalClass::kExact, hoist_in};
}

}  // namespace vernier
