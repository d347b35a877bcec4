// Abs, Neg, Sign of floats and integers.
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

struct Abs {
  template <class T>
  T operator()(T x) const {
    return magnitude(x);
  }
  static std::optional<Dim> follow(const Dim& x) {
    if (proven_positive(x + 1)) return x;
    return x.is_constant() ? std::optional(Dim(0) - x) : std::nullopt;
  }
};

struct Neg {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return wrapping_subtract(T{0}, x);
  }
  static std::optional<Dim> follow(const Dim& x) { return Dim(0) - x; }
};

struct Sign {
  template <class T>
  T operator()(T x) const {
    if (is_nan(x)) return x;
    return static_cast<T>((x > 0) - (x < 0));
  }
  static std::optional<Dim> follow(const Dim& x) {
    if (x == Dim(0)) return x;
    if (proven_positive(x)) return Dim(1);
    return proven_positive(Dim(0) - x) ? std::optional(Dim(-1)) : std::nullopt;
  }
};

template <class Op>
void add(OpRegistry& registry, const char* name, uint32_t traits, TypesSince since) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .attributes = {{"consumed_inputs", "INTS"}},
                .traits = kPointwise | traits,
                .since = since,
                .infer =
                    [](InferContext& context) {
                      context.set_type(0, context.type(0));
                      follow_unary(context, Op::follow);
                    },
                .reference = [](ReferenceContext& context) { map_number(context, Op()); }});
}

}  // namespace

void register_sign(OpRegistry& registry) {
  add<Abs>(registry, "Abs", kRoundsNothing, {13, 1});
  add<Neg>(registry, "Neg", kRoundsNothing, {13, 1});
  add<Sign>(registry, "Sign", kRoundsNothing | kSteps, {13, 9});
}

}  // namespace vernier::ops
