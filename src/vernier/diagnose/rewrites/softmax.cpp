#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int64_t kOneAxis = 13;  // the opset since which Softmax is of one axis, and not of all from one on

struct SoftmaxAxes {
  std::vector<int64_t> axes;
};

std::optional<SoftmaxAxes> axes_of(const Node& node) {
  static const std::set<std::string> known = {"Softmax", "LogSoftmax", "Hardmax"};
  if (!known.contains(node.op)) return std::nullopt;
  const auto rank = node.output(0) == nullptr ? std::nullopt : known_rank(*node.output(0));
  if (!rank || *rank == 0) return std::nullopt;
  const auto count = static_cast<int64_t>(*rank);
  int64_t axis = ops::integer_attribute(node, "axis");
  if (axis < 0) axis += count;
  if (node.version >= kOneAxis) return SoftmaxAxes{{axis}};
  SoftmaxAxes all;
  for (int64_t i = axis; i < count; ++i) all.axes.push_back(i);
  return all;
}

Value* less_maximum(Replacement& node, const SoftmaxAxes& of) {
  Value* x = node.input(0);
  return node("Sub", {x, node.reduce("ReduceMax", x, of.axes)});
}

}  // namespace

bool write_softmax(Replacement& node) {
  const Node& own = node.node();
  const auto of = axes_of(own);
  if (!of || of->axes.empty()) return false;
  Value* less = less_maximum(node, *of);
  if (own.op == "Softmax") {
    Value* power = node("Exp", {less});
    node("Div", {power, node.reduce("ReduceSum", power, of->axes)});
  } else if (own.op == "LogSoftmax") {
    Value* total = node.reduce("ReduceSum", node("Exp", {less}), of->axes);
    node("Sub", {less, node("Log", {total})});
  } else if (own.op == "Hardmax" && of->axes.size() == 1) {
    // The first of equal maxima alone: its place, and a one there.
    const auto sizes = sizes_of_value(own.output(0));
    const auto axis = of->axes[0];
    if (!own.output(0)->type.tensor.shape->at(static_cast<size_t>(axis)).constant()) return false;
    const int64_t length = *own.output(0)->type.tensor.shape->at(static_cast<size_t>(axis)).constant();
    Value* place = node("ArgMax", {own.input(0)}, {{"axis", axis}, {"keepdims", int64_t{1}}});
    std::vector<int64_t> counted(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) counted[static_cast<size_t>(i)] = i;
    Dims along(*known_rank(*own.output(0)), 1);
    along[static_cast<size_t>(axis)] = length;
    Value* places = node.constant(Tensor::from_ints(ElementType::kInt64, along, counted));
    node.cast(node("Equal", {place, places}), node.type());
  } else {
    return false;
  }
  return true;
}

bool subtract_maximum(Replacement& node) {
  const Node& own = node.node();
  const auto of = own.op == "Softmax" || own.op == "LogSoftmax" ? axes_of(own) : std::nullopt;
  if (!of || of->axes.empty()) return false;
  node.copy({less_maximum(node, *of)});
  return true;
}

}  // namespace vernier
