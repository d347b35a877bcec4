#include "vernier/ops/support/content.h"

#include "vernier/ops/support/follow.h"

namespace vernier::ops {

std::optional<Content> content_of(const InferContext& context, size_t input) {
  if (!context.has(input) || !context.type(input).is_tensor() || !context.shape(input)) return std::nullopt;
  const auto dims = to_dims(*context.shape(input));
  if (!dims) return std::nullopt;
  const int64_t count = element_count(*dims);
  if (count > kMaxFollowedElements) return std::nullopt;
  if (const auto& followed = context.info(input).dims) {
    if (static_cast<int64_t>(followed->size()) == count) return Content{*dims, *followed};
    return std::nullopt;
  }
  const Tensor* constant = context.constant(input);
  auto elements = constant != nullptr && constant->size() == count ? content_of(*constant) : std::nullopt;
  if (!elements) return std::nullopt;
  return Content{*dims, std::move(*elements)};
}

std::optional<Dim> scalar_content(const InferContext& context, size_t input) {
  if (const auto& shape = context.shape(input)) {
    const Dim count = element_count(*shape);
    if (count.is_constant() && count != Dim(1)) {
      throw bad_input("input {} of {} must have one element, not {}", input, context.node().op,
                      shape_text(*shape));
    }
  }
  const auto content = content_of(context, input);
  if (!content || content->elements.size() != 1) return std::nullopt;
  return content->elements[0];
}

std::vector<int64_t> truncated_ints(const Tensor& tensor) {
  if (!is_float(tensor.type())) return tensor.to_ints();
  return Tensor::from_doubles(ElementType::kInt64, tensor.dims(), tensor.to_doubles()).to_ints();
}

std::optional<std::vector<Dim>> truncated_content(const InferContext& context, size_t input) {
  if (auto content = content_of(context, input)) return std::move(content->elements);
  const Tensor* constant = context.constant(input);
  if (constant == nullptr || constant->size() > kMaxFollowedElements) return std::nullopt;
  return to_shape(truncated_ints(*constant));
}

Shape fresh_shape(const InferContext& context, size_t rank, std::string_view hint) {
  Shape shape;
  while (shape.size() < rank) shape.push_back(context.fresh(hint));
  return shape;
}

std::optional<size_t> list_length(const InferContext& context, size_t input) {
  const auto& shape = context.shape(input);
  if (!shape) return std::nullopt;
  if (shape->size() != 1) {
    throw bad_input("input {} of {} must be a list, not {}", input, context.node().op, shape_text(*shape));
  }
  const auto length = (*shape)[0].constant();
  if (!length || *length < 0) return std::nullopt;
  if (*length > kMaxFollowedElements) {
    throw bad_input("input {} of {} has {} elements, more than a tensor has axes", input, context.node().op,
                    *length);
  }
  return static_cast<size_t>(*length);
}

Dim same_size(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.is_constant() && b.is_constant())
    throw bad_input("sizes {} and {} must be equal", a.text(), b.text());
  if (a.is_constant() || b.is_constant()) return a.is_constant() ? a : b;
  return a.has_fresh() && !b.has_fresh() ? b : a;
}

Shape same_shape(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) throw bad_input("shapes {} and {} must be equal", shape_text(a), shape_text(b));
  Shape result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(same_size(a[i], b[i]));
  return result;
}

Dim checked_size(const Dim& size) {
  if (size.is_constant() && *size.constant() < 0) throw bad_input("{} is no size", size.text());
  return size;
}

ElementType element_type_attribute(const Node& node, std::string_view attribute, ElementType fallback) {
  const int64_t number = node.attribute<int64_t>(attribute, static_cast<int64_t>(fallback));
  if (number <= 0 || number >= kElementTypeCount) {
    throw bad_input("attribute '{}' is {}, which is no type", attribute, number);
  }
  const auto type = static_cast<ElementType>(number);
  if (type == ElementType::kString || is_complex(type)) {
    throw bad_input("attribute '{}' is {}, which {} cannot make", attribute, element_type_name(type),
                    node.op);
  }
  return type;
}

}  // namespace vernier::ops
