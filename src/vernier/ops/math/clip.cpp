// Clip: min(high, max(x, low)), so the upper bound wins where the bounds cross. The bounds are attributes
// before opset 11 (with the ends of FLOAT as defaults since 6), optional scalar inputs since.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

constexpr int64_t kBoundsAreInputs = 11;

void infer_clip(InferContext& context) {
  require_one_type(context, 0, 3);
  context.set_type(0, context.type(0));
  const FollowedInput x(context, 0), low(context, 1), high(context, 2);
  follow_elements(context, [&](size_t i) -> std::optional<Dim> {
    auto value = x[i];
    if (context.version() < kBoundsAreInputs || !value) return std::nullopt;
    if (context.has(1)) value = low[i] ? std::optional(max(*value, *low[i])) : std::nullopt;
    if (context.has(2) && value) value = high[i] ? std::optional(min(*value, *high[i])) : std::nullopt;
    return value;
  });
}

// The one element of an optional input.
template <class T>
std::optional<T> bound(const ReferenceContext& context, size_t input) {
  if (!context.has(input)) return std::nullopt;
  const auto elements = arithmetic_elements<T>(context, input);
  if (elements.size() != 1)
    throw bad_input("a bound of Clip must be a scalar, not {}", dims_text(context.dims(input)));
  return elements[0];
}

void reference_clip(ReferenceContext& context) {
  bool real = false;
  for (size_t i = 0; i < context.input_count(); ++i)
    real = real || (context.has(i) && is_float(context.in(i).type()));
  visit_arithmetic(real ? ElementType::kDouble : context.in(0).type(), [&]<class T>(T) {
    std::optional<T> low, high;
    if (context.version() >= kBoundsAreInputs) {
      low = bound<T>(context, 1);
      high = bound<T>(context, 2);
    } else if constexpr (std::is_same_v<T, double>) {
      low = clip_bound_attribute(context.node(), "min");
      high = clip_bound_attribute(context.node(), "max");
    }
    const auto x = arithmetic_elements<T>(context, 0);
    std::vector<T> y(static_cast<size_t>(x.size()));
    parallel_for(x.size(), kPointwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T value = x[i];
        if (low) value = maximum(value, *low);
        if (high) value = minimum(value, *high);
        y[static_cast<size_t>(i)] = value;
      }
    });
    store_arithmetic(context, 0, context.dims(0), y);
  });
}

}  // namespace

void register_clip(OpRegistry& registry) {
  registry.add({.op = "Clip",
                .operands = {Role::kData, Role::kData, Role::kData},
                .optional_inputs = 2,
                .attributes = {{"min", "FLOAT"}, {"max", "FLOAT"}, {"consumed_inputs", "INTS"}},
                .traits = kPointwise | kRoundsNothing,
                .since = {13, 1},
                .infer = infer_clip,
                .reference = reference_clip});
}

}  // namespace vernier::ops
