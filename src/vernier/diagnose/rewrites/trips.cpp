// A Loop that does not depend on how exactly an engine counts: it has a trip more than it needs, and whatever
// trips come after the last that counts leave everything as it is.
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ir/clone.h"

namespace vernier {

namespace {

using Values = std::vector<Value*>;

constexpr size_t kBeforeState = 2;  // inputs of a Loop, and of its body, before those that are carried

// Puts new nodes before, and then behind, those of a body.
class BodyNodes {
 public:
  // `names` has those of the model in which the Loop is.
  BodyNodes(Graph& body, const Node& loop, FreeNames names, int64_t opset)
      : body_(body), loop_(loop), names_(std::move(names)), opset_(opset) {}

  Value* value(const std::string& what, ValueType type = {}) {
    return body_.add_value(names_.take(loop_.name + "~trip~" + what), std::move(type));
  }
  Value* input(const std::string& what, ValueType type) {
    return body_.inputs.emplace_back(value(what, std::move(type)));
  }
  void add(const std::string& op, Values inputs, Values results) {
    auto node = make_node(op, opset_, std::move(inputs), results.at(0));
    node->outputs = std::move(results);
    place(std::move(node));
  }
  Value* operator()(const std::string& op, Values inputs) {
    Value* result = value(op);
    add(op, std::move(inputs), {result});
    return result;
  }
  Value* as_integer(Value* truth) {
    Value* result = value("Cast");
    auto node = make_node("Cast", opset_, {truth}, result);
    node->attributes.emplace("to", static_cast<int64_t>(ElementType::kInt64));
    place(std::move(node));
    return result;
  }
  Value* zero() {
    return body_.add_constant(names_.take(loop_.name + "~trip~zero"), Tensor(ElementType::kInt64, {}));
  }
  // The results are `first` where the condition is true, and `others` where it is false.
  void choose(Value* condition, const Values& first, const Values& others, Values results) {
    if (results.empty()) return;
    auto node = make_node("If", opset_, {condition}, results.at(0));
    node->outputs = std::move(results);
    node->regions.emplace_back("then_branch", passing(first));
    node->regions.emplace_back("else_branch", passing(others));
    place(std::move(node));
  }
  void go_behind() { at_ = body_.nodes().size(); }

 private:
  void place(std::unique_ptr<Node> node) {
    node->provenance = loop_.provenance;
    body_.add_node(std::move(node), at_++);
  }
  std::unique_ptr<Graph> passing(const Values& values) {
    auto branch = std::make_unique<Graph>(&body_);
    branch->name = body_.name;
    for (Value* passed : values) {
      Value* result = branch->add_value(names_.take(loop_.name + "~trip~Identity"));
      branch->add_node(make_node("Identity", opset_, {passed}, result))->provenance = loop_.provenance;
      branch->outputs.push_back(result);
    }
    return branch;
  }

  Graph& body_;
  const Node& loop_;
  FreeNames names_;
  int64_t opset_;
  size_t at_ = 0;
};

// A trip that does not count reads what the first one read, which suits the body for sure, and what it makes
// of that is dropped. The body carries two values more: whether it goes on, and how many trips have counted.
void guard(Graph& body, BodyNodes& nodes, const Values& first, Value* trips) {
  const Values old = std::move(body.inputs);
  body.inputs.clear();
  const auto state_of = [](const Values& values, size_t from) {
    return Values(values.begin() + static_cast<ptrdiff_t>(from), values.end());
  };
  for (const Value* value : old) nodes.input("given", value->type);
  const Values read = state_of(old, kBeforeState), given = state_of(body.inputs, kBeforeState);
  const auto scalar = [](ElementType type) { return ValueType::of(type, Shape{}); };
  Value *going = nodes.input("going", scalar(ElementType::kBool)),
        *count = nodes.input("count", scalar(ElementType::kInt64));
  Value *trip = body.inputs[0], *counts = going;
  if (trips != nullptr) counts = nodes("And", {going, nodes("Less", {trip, trips})});
  nodes.add("Where", {counts, trip, nodes.zero()}, {old[0]});
  nodes.add("Identity", {body.inputs[1]}, {old[1]});
  nodes.choose(counts, given, first, read);
  nodes.go_behind();
  const Values made(body.outputs.begin() + 1,
                    body.outputs.begin() + 1 + static_cast<ptrdiff_t>(first.size()));
  Values kept;
  for (const Value* value : read) kept.push_back(nodes.value("kept", value->type));
  nodes.choose(counts, made, given, kept);
  kept.push_back(nodes("And", {counts, body.outputs[0]}));
  kept.push_back(nodes("Add", {count, nodes.as_integer(counts)}));
  kept.insert(kept.begin(), nodes("Identity", {counts}));
  const Values rows = state_of(body.outputs, 1 + first.size());
  body.outputs = std::move(kept);
  body.outputs.insert(body.outputs.end(), rows.begin(), rows.end());
}

bool guard_loop(Replacement& node) {
  const Node& own = node.node();
  Value *trips = own.input(0), *condition = own.input(1);
  if ((trips == nullptr && condition == nullptr) || own.outputs.size() < own.inputs.size() - kBeforeState)
    return false;
  const Values first(own.inputs.begin() + kBeforeState, own.inputs.end());
  Values inputs = own.inputs;
  if (trips != nullptr) {
    Value* some = node("Greater", {trips, node.scalar(0, ElementType::kInt64)});
    inputs[0] = node("Add", {trips, node.cast(some, ElementType::kInt64)});
  }
  inputs.push_back(condition != nullptr ? condition : node.scalar(1, ElementType::kBool));
  inputs.push_back(node.scalar(0, ElementType::kInt64));
  node.same(inputs);
  Node& loop = node.last();
  BodyNodes nodes(*loop.region("body"), own, FreeNames(node.graph()), node.opset());
  guard(*loop.region("body"), nodes, first, trips);
  Value *going = node.named_value(own.name + "~going"), *count = node.named_value(own.name + "~count");
  const auto carried = loop.outputs.begin() + static_cast<ptrdiff_t>(first.size());
  loop.outputs.insert(carried, {going, count});
  // Rows of trips that do not count are cut off.
  const Values bounds{node.ints({0}), node.reshape(count, {1}), node.ints({0})};
  for (size_t i = loop.outputs.size(); i-- > first.size() + 2;) {
    if (loop.outputs[i] == nullptr) continue;
    Value* result = own.outputs[i - 2];
    if (result != own.outputs[0]) loop.outputs[i] = node.named_value(result->name + "~all");
    node("Slice", {loop.outputs[i], bounds[0], bounds[1], bounds[2]});
    if (result != own.outputs[0]) node.give(result);
  }
  if (!first.empty()) node("Identity", {loop.outputs[0]});
  return true;
}

}  // namespace

// Not by rewrite_each(): a Loop may have no first input.
bool guard_trips(Model& model, const std::vector<std::string>& nodes) {
  constexpr int64_t kOpset = 11;  // from where on a Loop is what is written here
  if (model.opset("") < kOpset) return false;
  bool changed = false;
  for (Node* loop : nodes_of(model, nodes, {"Loop"})) {
    if (loop->output(0) == nullptr) continue;
    Replacement replacement(model, *loop);
    if (!guard_loop(replacement)) continue;
    replacement.put();
    changed = true;
  }
  return changed;
}

}  // namespace vernier
