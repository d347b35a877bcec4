// Resize and Upsample by explicit indices and matrices. What the operator does along an axis is linear, so
// its matrix is what the reference makes of the rows of a unit matrix.
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/evaluate.h"

namespace vernier {

namespace {

// [n, m]: the result along an axis is the product of the image [.., n] and this. Nothing where it is another
// operator or has a region of interest.
std::optional<Tensor> matrix_along(const Node& resize, size_t axis, int64_t n, int64_t m) {
  Node one;
  one.name = resize.name;
  one.op = resize.op;
  one.version = resize.version;
  one.attributes = resize.attributes;
  for (const char* gone : {"axes", "keep_aspect_ratio_policy"}) one.attributes.erase(gone);
  std::vector<double> unit(static_cast<size_t>(n * n), 0);
  for (int64_t i = 0; i < n; ++i) unit[static_cast<size_t>(i * n + i)] = 1;
  const Tensor image = Tensor::from_doubles(ElementType::kFloat, {n, n}, unit);
  const bool is_old = resize.inputs.size() == 2;  // scales alone
  const Value* given = is_old ? resize.input(1) : resize.input(2);
  Tensor scales;
  if (const auto values = constant_values(given); values && axis < values->size())
    scales = Tensor::from_doubles(ElementType::kFloat, {2}, std::vector<double>{1, (*values)[axis]});
  const Tensor sizes = Tensor::from_ints(ElementType::kInt64, {2}, std::vector<int64_t>{n, m});
  std::vector<const Tensor*> operands{&image};
  if (is_old)
    operands.push_back(&scales);
  else
    operands.insert(operands.end(), {nullptr, scales.is_defined() ? &scales : nullptr,
                                     scales.is_defined() ? nullptr : &sizes});
  if (is_old && !scales.is_defined()) return std::nullopt;
  // Only how many inputs and outputs there are matters, not which.
  Graph graph;
  for (const Tensor* operand : operands)
    one.inputs.push_back(operand == nullptr ? nullptr
                                            : graph.add_value(fmt::format("i{}", one.inputs.size())));
  one.outputs.push_back(graph.add_value("o"));
  Tensor made = ops::evaluate(one, operands).at(0).tensor;
  if (made.dims() != Dims{n, m}) return std::nullopt;
  return made;
}

// The place that each element is taken from, where every one is an element of the image.
std::optional<std::vector<int64_t>> places_in(const Tensor& matrix) {
  const auto values = matrix.to_doubles();
  const auto n = static_cast<size_t>(matrix.dims()[0]), m = static_cast<size_t>(matrix.dims()[1]);
  std::vector<int64_t> places(m, -1);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < m; ++j) {
      const double value = values[i * m + j];
      if (value == 0) continue;
      if (value != 1 || places[j] >= 0) return std::nullopt;
      places[j] = static_cast<int64_t>(i);
    }
  }
  const bool all = std::all_of(places.begin(), places.end(), [](int64_t place) { return place >= 0; });
  return all ? std::optional(places) : std::nullopt;
}

Tensor transposed(const Tensor& matrix) {
  const auto n = matrix.dims()[0], m = matrix.dims()[1];
  const auto values = matrix.to_doubles();
  std::vector<double> turned(values.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j)
      turned[static_cast<size_t>(j * n + i)] = values[static_cast<size_t>(i * m + j)];
  }
  return Tensor::from_doubles(ElementType::kFloat, {m, n}, turned);
}

Tensor as_type(const Tensor& tensor, ElementType type) {
  return Tensor::from_doubles(type, tensor.dims(), tensor.to_doubles());
}

}  // namespace

bool write_resampling(Replacement& node) {
  const Node& own = node.node();
  if (own.op != "Resize" && own.op != "Upsample") return false;
  const auto mode = ops::text_attribute(own, "coordinate_transformation_mode");
  if (mode == "tf_crop_and_resize" || !is_float(node.type()) || own.find_attribute("axes") != nullptr)
    return false;
  const ValueType &x = own.input(0)->type, &y = own.output(0)->type;
  if (!x.tensor.shape || !y.tensor.shape || x.tensor.shape->size() != y.tensor.shape->size()) return false;
  const size_t rank = x.tensor.shape->size();
  Value* result = own.input(0);
  for (size_t axis = 0; axis < rank; ++axis) {
    const Dim &from = (*x.tensor.shape)[axis], &to = (*y.tensor.shape)[axis];
    if (from == to) continue;
    if (!from.constant() || !to.constant()) return false;
    const auto matrix = matrix_along(own, axis, *from.constant(), *to.constant());
    if (!matrix) return false;
    if (const auto places = places_in(*matrix)) {
      result = node("Gather", {result, node.ints(*places)}, {{"axis", static_cast<int64_t>(axis)}});
    } else if (axis + 1 == rank) {
      result = node("MatMul", {result, node.constant(as_type(*matrix, node.type()))});
    } else if (axis + 2 == rank) {
      result = node("MatMul", {node.constant(as_type(transposed(*matrix), node.type())), result});
    } else {
      return false;
    }
  }
  return result != own.input(0);
}

}  // namespace vernier
