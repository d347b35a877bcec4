#include "vernier/ops/support/follow.h"

namespace vernier::ops {

namespace {

// Number of elements of output 0, if that is known and small.
std::optional<size_t> followed_size(InferContext& context) {
  if (!context.wants(0) || !context.outputs()[0].type.is_tensor()) return std::nullopt;
  const auto& shape = context.outputs()[0].type.tensor.shape;
  const auto dims = shape ? to_dims(*shape) : std::nullopt;
  if (!dims) return std::nullopt;
  const int64_t size = element_count(*dims);
  return size <= kMaxFollowedElements ? std::optional(static_cast<size_t>(size)) : std::nullopt;
}

// Integers of at most this magnitude are exact in the type; 0 where nothing is followed.
double exact_limit(ElementType type) {
  if (type == ElementType::kDouble) return 0x1p53;
  return type == ElementType::kFloat ? 0x1p24 : 0;
}

}  // namespace

bool holds_exactly(ElementType type, const Dim& content) {
  const auto value = content.constant();
  if (type == ElementType::kBool) return value && (*value == 0 || *value == 1);
  if (is_float(type)) {
    return value ? std::abs(static_cast<double>(*value)) <= exact_limit(type) : exact_limit(type) > 0;
  }
  if (!is_integer(type)) return false;
  if (!value) return element_bits(type) >= 32;
  if (*value < 0) return *value >= integer_min(type);
  return static_cast<uint64_t>(*value) <= integer_max(type);
}

std::optional<std::vector<Dim>> content_of(const Tensor& tensor) {
  const ElementType type = tensor.type();
  if (is_integer(type) || type == ElementType::kBool) {
    const auto values = tensor.to_ints();
    // A number that is negative here is beyond the range of a dimension.
    if (type == ElementType::kUint64 &&
        std::any_of(values.begin(), values.end(), [](int64_t x) { return x < 0; }))
      return std::nullopt;
    return to_shape(values);
  }
  if (exact_limit(type) == 0) return std::nullopt;
  std::vector<Dim> content;
  for (const double value : tensor.to_doubles()) {
    if (!(std::abs(value) <= exact_limit(type)) || value != std::trunc(value)) return std::nullopt;
    content.emplace_back(static_cast<int64_t>(value));
  }
  return content;
}

bool proven_positive(const Dim& value) {
  const auto bound = value.lower_bound();
  if (!bound || *bound <= 0) return false;
  // The bound takes sizes to be 1 or more; it rises with them, so their being zero is the case left to look
  // at.
  SymbolValues zeros;
  for (const auto& name : value.symbols()) zeros[name] = 0;
  const auto least = value.evaluate(zeros);
  return least && *least > 0;
}

FollowedInput::FollowedInput(InferContext& context, size_t input) {
  const auto size = followed_size(context);
  if (!size || !context.has(input) || !context.info(input).dims) return;
  const auto& content = *context.info(input).dims;
  // An input of as many elements as the output is not repeated anywhere, whatever its rank.
  if (content.size() == 1 || content.size() == *size) content_ = &content;
}

std::optional<Dim> FollowedInput::operator[](size_t index) const {
  if (content_ == nullptr) return std::nullopt;
  return (*content_)[content_->size() == 1 ? 0 : index];
}

void follow_elements(InferContext& context, const std::function<std::optional<Dim>(size_t)>& element) {
  const auto size = followed_size(context);
  if (!size) return;
  const ElementType type = context.outputs()[0].type.tensor.element;
  std::vector<Dim> content;
  try {
    for (size_t i = 0; i < *size; ++i) {
      auto value = element(i);
      if (!value || !holds_exactly(type, *value)) return;
      content.push_back(std::move(*value));
    }
  } catch (const Error&) {
    return;  // numbers that overflow as dimensions, or a division by zero: no sizes
  }
  context.set_dims(0, std::move(content));
}

}  // namespace vernier::ops
