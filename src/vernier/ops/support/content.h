// Inference can know more than types: integer content that shape arithmetic is followed through, and sizes
// that two inputs must share.
#pragma once

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// The content of a small tensor of known sizes, whose elements are integers, possibly symbolic ones.
struct Content {
  Dims dims;
  std::vector<Dim> elements;  // row-major
};

// Gives content of any rank; nothing if it is not known or too large to be followed.
std::optional<Content> content_of(const InferContext& context, size_t input);

// The one element of an input; nothing if it is not known. Throws bad_input for several.
std::optional<Dim> scalar_content(const InferContext& context, size_t input);

// Some operators take counts in tensors of any type, floats included, and mean their integer part.
std::vector<int64_t> truncated_ints(const Tensor& tensor);
std::optional<std::vector<Dim>> truncated_content(const InferContext& context, size_t input);

// A shape of which only the rank is known.
Shape fresh_shape(const InferContext& context, size_t rank, std::string_view hint);
// The number of elements of a list (rank 1) about axes, if inference knows it; throws bad_input if the input
// has another rank, or more elements than a tensor can have axes.
std::optional<size_t> list_length(const InferContext& context, size_t input);

// The size that two inputs share: of two names for it, the one that tells more. Throws bad_input if they
// differ.
Dim same_size(const Dim& a, const Dim& b);
Shape same_shape(const Shape& a, const Shape& b);
// A size that came out of the content of a tensor; throws bad_input if it is known to be negative.
Dim checked_size(const Dim& size);

// The type of real numbers that an attribute such as `dtype` names by its ONNX number; throws bad_input for
// others.
ElementType element_type_attribute(const Node& node, std::string_view attribute, ElementType fallback);

}  // namespace vernier::ops
