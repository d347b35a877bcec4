#include "vernier/ops/infer_context.h"

namespace vernier::ops {

const ValueInfo& InferContext::info(size_t input) const {
  if (!has(input)) throw bad_input("input {} of {} is missing", input, node_.op);
  return *inputs_[input];
}

ElementType InferContext::element(size_t input) const {
  const ValueType& wanted = type(input);
  if (!wanted.is_tensor())
    throw bad_input("input {} of {} must be a tensor, not {}", input, node_.op, wanted.text());
  return wanted.tensor.element;
}

const std::optional<Shape>& InferContext::shape(size_t input) const {
  element(input);
  return type(input).tensor.shape;
}

std::optional<std::vector<int64_t>> InferContext::ints(size_t input) const {
  if (!has(input)) return std::nullopt;
  const ValueInfo& known = info(input);
  if (known.constant && !is_float(known.constant->type())) return known.constant->to_ints();
  if (!known.dims || is_float(known.type.tensor.element)) return std::nullopt;
  return to_dims(*known.dims);
}

const std::optional<std::vector<Dim>>& InferContext::dims(size_t input) const {
  static const std::optional<std::vector<Dim>> unknown;
  const ValueInfo& known = info(input);
  const auto& sizes = known.type.tensor.shape;
  return sizes && sizes->size() > 1 ? unknown : known.dims;
}

void InferContext::set_type(size_t output, ValueType type) {
  if (wants(output)) outputs_[output].type = std::move(type);
}

void InferContext::set_output(size_t output, ElementType element, std::optional<Shape> shape) {
  set_type(output, ValueType::of(element, std::move(shape)));
}

void InferContext::set_dims(size_t output, std::vector<Dim> content) {
  if (wants(output) && static_cast<int64_t>(content.size()) <= kMaxFollowedElements)
    outputs_[output].dims = std::move(content);
}

void InferContext::set_constant(size_t output, Tensor value) {
  if (wants(output)) outputs_[output].constant = std::move(value);
}

Dim InferContext::fresh(std::string_view hint) const {
  return Dim::fresh(hint);
}

std::vector<ValueInfo> InferContext::infer_region(const Graph& region, const std::vector<ValueInfo>&) {
  std::vector<ValueInfo> results;
  for (const Value* output : region.outputs) {
    ValueInfo result;
    result.type = output->type;
    result.type.tensor.shape.reset();
    results.push_back(std::move(result));
  }
  return results;
}

int64_t normalize_axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) throw bad_input("axis {} is outside of rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> normalize_axes(const std::vector<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> result;
  result.reserve(axes.size());
  for (const int64_t axis : axes) result.push_back(normalize_axis(axis, rank));
  return result;
}

void require_elements(const InferContext& context, size_t input, const Dim& wanted) {
  if (!context.has(input) || !context.shape(input)) return;
  const auto dims = to_dims(*context.shape(input));
  if (dims && wanted.is_constant() && element_count(*dims) != *wanted.constant())
    throw bad_input("input {} has {} elements instead of {}", input, element_count(*dims), wanted.text());
}

void require_one_type(const InferContext& context, size_t first, size_t last) {
  ElementType common = ElementType::kUndefined;
  for (size_t i = first; i < last; ++i) {
    const ElementType type = context.has(i) ? context.element(i) : ElementType::kUndefined;
    if (type == ElementType::kUndefined) continue;
    if (common == ElementType::kUndefined) common = type;
    if (type != common) {
      throw bad_input("the inputs of {} must have one type, not {} and {}", context.node().op,
                      element_type_name(common), element_type_name(type));
    }
  }
}

void infer_same_as_input(InferContext& context) {
  context.set_type(0, context.type(0));
  if (!context.type(0).is_tensor() || is_float(context.element(0))) return;
  if (const auto& content = context.dims(0)) context.set_dims(0, *content);
}

std::optional<Shape> broadcast_inputs(const InferContext& context, size_t first, size_t last) {
  Shape result;
  for (size_t i = first; i < last; ++i) {
    if (!context.has(i)) continue;
    const auto& shape = context.shape(i);
    if (!shape) return std::nullopt;
    result = broadcast(result, *shape);
  }
  return result;
}

void infer_broadcast(InferContext& context) {
  context.set_output(0, context.element(0), broadcast_inputs(context, 0, context.input_count()));
}

void infer_broadcast_bool(InferContext& context) {
  context.set_output(0, ElementType::kBool, broadcast_inputs(context, 0, context.input_count()));
}

}  // namespace vernier::ops
