// Mod: the remainder with the sign of the divisor (fmod = 0) or of the dividend (fmod = 1). Floats with fmod
// = 0 are legal since opset 28.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/legacy_broadcast.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

// The quotient is rounded towards zero.
template <class T>
T truncated_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if (b == 0) throw bad_input("integer remainder of a division by zero");
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the smallest integer divided by -1 overflows
    }
    return a % b;
  }
}

// The quotient is rounded towards minus infinity.
template <class T>
T floored_remainder(T a, T b) {
  const T rest = truncated_remainder(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) return rest + b;
  if constexpr (std::is_floating_point_v<T>)
    return rest == 0 ? std::copysign(rest, b) : rest;
  else
    return rest;
}

void infer_mod(InferContext& context) {
  infer_binary(context, context.element(0));
  const bool truncates = integer_attribute(context.node(), "fmod") != 0;
  follow_binary(context, [truncates](const Dim& a, const Dim& b) -> std::optional<Dim> {
    if (b == Dim(0)) return std::nullopt;
    if (truncates && a.is_constant() && b.is_constant())
      return truncated_remainder(*a.constant(), *b.constant());
    // The two kinds agree for sizes, which are not negative.
    return mod(a, b);
  });
}

void reference_mod(ReferenceContext& context) {
  if (integer_attribute(context.node(), "fmod") != 0) {
    zip_number(context, [](auto a, auto b) { return truncated_remainder(a, b); });
  } else {
    zip_number(context, [](auto a, auto b) { return floored_remainder(a, b); });
  }
}

}  // namespace

void register_mod(OpRegistry& registry) {
  registry.add({.op = "Mod",
                .operands = {Role::kData, Role::kData},
                .attributes = {{"fmod", "INT"}},
                .traits = kPointwise | kFewRoundings,
                .since = {13, 10},
                .infer = infer_mod,
                .reference = reference_mod});
}

}  // namespace vernier::ops
