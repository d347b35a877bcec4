// Add, Sub, Mul, Div: broadcasting (before opset 7 as legacy_broadcast.h has it), in double or native
// integers, which wrap. Also followed symbolically, for shape arithmetic.
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/legacy_broadcast.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

struct AddOp {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_add(a, b);
  }
  static std::optional<Dim> follow(const Dim& a, const Dim& b, bool) { return a + b; }
};

struct SubOp {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_subtract(a, b);
  }
  static std::optional<Dim> follow(const Dim& a, const Dim& b, bool) { return a - b; }
};

struct MulOp {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_multiply(a, b);
  }
  static std::optional<Dim> follow(const Dim& a, const Dim& b, bool) { return a * b; }
};

struct DivOp {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) throw bad_input("integer division by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return wrapping_subtract(T{0}, a);  // the smallest integer divided by -1 overflows
      }
      return a / b;  // towards zero
    }
  }
  static std::optional<Dim> follow(const Dim& a, const Dim& b, bool real) {
    if (b == Dim(0)) return std::nullopt;
    if (real) return exact_quotient(a, b);
    if (a.is_constant() && b.is_constant()) return DivOp()(*a.constant(), *b.constant());
    // Division of sizes is of non-negative numbers, where truncation and floor agree.
    return floordiv(a, b);
  }
};

template <class Op>
void infer_arithmetic(InferContext& context) {
  infer_binary(context, context.element(0));
  const bool real = is_float(context.element(0));
  follow_binary(context, [real](const Dim& a, const Dim& b) { return Op::follow(a, b, real); });
}

template <class Op>
void reference_arithmetic(ReferenceContext& context) {
  zip_number(context, Op(), legacy_dims(context));
}

template <class Op>
void add(OpRegistry& registry, const char* name, uint32_t traits, Role second = Role::kData) {
  registry.add({.op = name,
                .operands = {Role::kData, second},
                .attributes = {{"axis", "INT"}, {"broadcast", "INT"}, {"consumed_inputs", "INTS"}},
                .traits = kPointwise | traits,
                .since = {13, 1},
                .infer = infer_arithmetic<Op>,
                .reference = reference_arithmetic<Op>});
}

}  // namespace

void register_arithmetic(OpRegistry& registry) {
  add<AddOp>(registry, "Add", kRoundsOnce);
  add<SubOp>(registry, "Sub", kRoundsOnce);
  add<MulOp>(registry, "Mul", kRoundsOnce);
  // A quotient is no such result: kernels take the product with the reciprocal for it.
  add<DivOp>(registry, "Div", kFewRoundings, Role::kDivisor);
}

}  // namespace vernier::ops
