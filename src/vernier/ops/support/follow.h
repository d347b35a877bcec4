// Integer content (ValueInfo::dims) followed through pointwise operators.
//
// A float tensor is followed, too, where its content is an exact integer expression, as in Cast to float,
// Mul, Floor, Cast back. Whatever an operator cannot tell exactly it does not follow.
#pragma once

#include <functional>

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// Whether a tensor of this type holds `content` as it is, without wrapping or rounding.
bool holds_exactly(ElementType type, const Dim& content);
// The elements as dimensions, if they are integers that the type holds exactly.
std::optional<std::vector<Dim>> content_of(const Tensor& tensor);
// True if the value is positive for all sizes, zero included.
bool proven_positive(const Dim& value);

// The followed content of an input as broadcast to output 0, whose type must be set.
class FollowedInput {
 public:
  FollowedInput(InferContext& context, size_t input);
  // Nothing where the content is not known.
  std::optional<Dim> operator[](size_t index) const;

 private:
  const std::vector<Dim>* content_ = nullptr;
};

// Sets the content of output 0 (its type must be set) to element(0), element(1), …, unless one of them is not
// known.
void follow_elements(InferContext& context, const std::function<std::optional<Dim>(size_t)>& element);

// Content of output 0 = f(content of input 0); f gives a Dim or an optional one.
template <class F>
void follow_unary(InferContext& context, F f) {
  const FollowedInput x(context, 0);
  follow_elements(context, [&](size_t i) -> std::optional<Dim> {
    const auto value = x[i];
    if (!value) return std::nullopt;
    return f(*value);
  });
}

// Content of output 0 = f(content of input 0, content of input 1), broadcast.
template <class F>
void follow_binary(InferContext& context, F f) {
  const FollowedInput a(context, 0), b(context, 1);
  follow_elements(context, [&](size_t i) -> std::optional<Dim> {
    const auto left = a[i], right = b[i];
    if (!left || !right) return std::nullopt;
    return f(*left, *right);
  });
}

}  // namespace vernier::ops
