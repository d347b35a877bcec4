// Constant: a tensor held by an attribute (sparse ones are dense after import); from opset 12 also a number,
// a string or a list of these. ConstantOfShape: one value, float 0 by default, repeated over a shape that is
// an input.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

template <class T>
std::optional<Tensor> scalar_attribute(const Node& node, std::string_view name, ElementType type) {
  if (node.find_attribute(name) == nullptr) return std::nullopt;
  return Tensor::from<T>(type, {}, {node.attribute<T>(name, {})});
}

template <class T>
std::optional<Tensor> list_attribute(const Node& node, std::string_view name, ElementType type) {
  if (node.find_attribute(name) == nullptr) return std::nullopt;
  const auto values = node.attribute<std::vector<T>>(name, {});
  return Tensor::from<T>(type, {static_cast<int64_t>(values.size())}, values);
}

Tensor constant_value(const Node& node) {
  for (const char* name : {"value", "sparse_value"}) {
    if (node.find_attribute(name) != nullptr) return node.attribute<Tensor>(name, {});
  }
  if (auto value = scalar_attribute<int64_t>(node, "value_int", ElementType::kInt64)) return *value;
  if (auto value = scalar_attribute<float>(node, "value_float", ElementType::kFloat)) return *value;
  if (auto value = scalar_attribute<std::string>(node, "value_string", ElementType::kString)) return *value;
  if (auto value = list_attribute<int64_t>(node, "value_ints", ElementType::kInt64)) return *value;
  if (auto value = list_attribute<float>(node, "value_floats", ElementType::kFloat)) return *value;
  if (auto value = list_attribute<std::string>(node, "value_strings", ElementType::kString)) return *value;
  throw bad_input("Constant has no value");
}

void infer_constant(InferContext& context) {
  Tensor value = constant_value(context.node());
  context.set_output(0, value.type(), to_shape(value.dims()));
  context.set_constant(0, std::move(value));
}

void constant(ReferenceContext& context) {
  context.emit(0, stored_as(constant_value(context.node()), context.out_storage(0)));
}

Tensor repeated_value(const Node& node) {
  Tensor value = constant_of_shape_value(node);
  if (value.size() != 1) throw bad_input("attribute 'value' must have one element, not {}", value.size());
  return value;
}

void infer_constant_of_shape(InferContext& context) {
  const Tensor value = repeated_value(context.node());
  context.set_output(0, value.type(), std::nullopt);
  const auto length = list_length(context, 0);
  if (!length) return;
  const auto& sizes = context.dims(0);
  if (!sizes) return context.set_output(0, value.type(), fresh_shape(context, *length, "constant_of_shape"));
  Shape shape;
  for (const Dim& size : *sizes) shape.push_back(checked_size(size));
  context.set_output(0, value.type(), shape);
  const auto dims = to_dims(shape);
  const bool exact = is_integer(value.type()) || value.type() == ElementType::kBool;
  if (!dims || !exact || element_count(*dims) > kMaxFollowedElements) return;
  context.set_dims(0, std::vector<Dim>(static_cast<size_t>(element_count(*dims)), value.to_ints()[0]));
}

void constant_of_shape(ReferenceContext& context) {
  Tensor& output = context.allocate(0);
  fill(output, stored_as(repeated_value(context.node()), output.type()));
}

}  // namespace

void register_constant(OpRegistry& registry) {
  registry.add({.op = "Constant",
                .attributes = {{"value", "TENSOR"},
                               {"sparse_value", "SPARSE_TENSOR"},
                               {"value_int", "INT"},
                               {"value_ints", "INTS"},
                               {"value_float", "FLOAT"},
                               {"value_floats", "FLOATS"},
                               {"value_string", "STRING"},
                               {"value_strings", "STRINGS"}},
                .precision = PrecisionClass::kStatesType,
                .since = {13, 1},
                .infer = infer_constant,
                .reference = constant,
                .flops = no_flops});
  registry.add({.op = "ConstantOfShape",
                .operands = {Role::kSizes},
                .attributes = {{"value", "TENSOR"}},
                .traits = kRoundsNothing,
                .precision = PrecisionClass::kStatesType,
                .since = {20, 9},
                .infer = infer_constant_of_shape,
                .reference = constant_of_shape,
                .flops = no_flops});
}

}  // namespace vernier::ops
