#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

std::vector<int64_t> axes_from(int64_t first, size_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = first; i < static_cast<int64_t>(rank); ++i) axes.push_back(i);
  return axes;
}

// The value less its mean, by the root of the mean of its squares: in two passes.
Value* normalised(Replacement& node, Value* x, const std::vector<int64_t>& axes, double epsilon) {
  Value* less = node("Sub", {x, node.reduce("ReduceMean", x, axes)});
  Value* variance = node.reduce("ReduceMean", node("Mul", {less, less}), axes);
  return node("Div", {less, node("Sqrt", {node("Add", {variance, node.scalar(epsilon)})})});
}

// A factor or offset for each channel, axis 1.
Value* by_channel(Replacement& node, Value* value, size_t rank) {
  std::vector<int64_t> sizes(rank - 1, 1);
  sizes[0] = -1;
  return node.reshape(value, sizes);
}

bool write_batch_normalisation(Replacement& node, size_t rank) {
  const Node& own = node.node();
  const double epsilon = ops::real_attribute(own, "epsilon");
  const auto factor = constant_values(own.input(1)), offset = constant_values(own.input(2)),
             mean = constant_values(own.input(3)), variance = constant_values(own.input(4));
  if (!factor || !offset || !mean || !variance || own.output(1) != nullptr) return false;
  std::vector<double> scale(factor->size()), shift(factor->size());
  for (size_t i = 0; i < scale.size(); ++i) {
    scale[i] = (*factor)[i] / std::sqrt((*variance)[i] + epsilon);
    shift[i] = (*offset)[i] - (*mean)[i] * scale[i];
  }
  Dims dims(rank - 1, 1);
  dims[0] = static_cast<int64_t>(scale.size());
  Value* scaled = node("Mul", {own.input(0), node.constant(Tensor::from_doubles(node.type(), dims, scale))});
  node("Add", {scaled, node.constant(Tensor::from_doubles(node.type(), dims, shift))});
  return true;
}

}  // namespace

bool write_normalisation(Replacement& node) {
  static const std::set<std::string> known = {"BatchNormalization", "LayerNormalization",
                                              "InstanceNormalization"};
  const Node& own = node.node();
  const auto rank = known_rank(*own.input(0));
  if (!known.contains(own.op) || !rank || *rank < 2) return false;
  if (own.op == "BatchNormalization") return write_batch_normalisation(node, *rank);
  const double epsilon = ops::real_attribute(own, "epsilon");
  if (own.op == "LayerNormalization") {
    if (own.output(1) != nullptr || own.output(2) != nullptr) return false;
    int64_t axis = ops::integer_attribute(own, "axis");
    if (axis < 0) axis += static_cast<int64_t>(*rank);
    Value* result = normalised(node, own.input(0), axes_from(axis, *rank), epsilon);
    result = node("Mul", {result, own.input(1)});
    if (own.input(2) != nullptr) node("Add", {result, own.input(2)});
    return true;
  }
  if (own.op != "InstanceNormalization" || *rank < 3) return false;
  Value* result = normalised(node, own.input(0), axes_from(2, *rank), epsilon);
  result = node("Mul", {result, by_channel(node, own.input(1), *rank)});
  Value* offset = by_channel(node, own.input(2), *rank);
  node("Add", {result, offset});
  return true;
}

bool write_mean(Replacement& node) {
  const Node& own = node.node();
  const auto& shape = own.input(0)->type.tensor.shape;
  if (own.op != "ReduceMean" || !shape) return false;
  auto axes = own.attribute<std::vector<int64_t>>("axes", {});
  if (const Value* given = own.input(1); given != nullptr) {
    const Tensor* held = constant_of(given);
    if (held == nullptr) return false;
    axes = held->to_ints();
  }
  const auto rank = static_cast<int64_t>(shape->size());
  if (axes.empty()) axes = axes_from(0, shape->size());
  double count = 1;
  for (const int64_t axis : axes) {
    const auto length = shape->at(static_cast<size_t>(axis < 0 ? axis + rank : axis)).constant();
    if (!length) return false;
    count *= static_cast<double>(*length);
  }
  Value* scaled = node("Mul", {own.input(0), node.scalar(1 / count)});
  node.reduce("ReduceSum", scaled, axes, ops::integer_attribute(own, "keepdims") != 0);
  return true;
}

}  // namespace vernier
