// Min, Max, Sum, Mean of any number of inputs, broadcast (before opset 8 they are of equal sizes). Min and
// Max take integers since opset 12; a NaN wins.
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return minimum(a, b);
  }
  static Dim follow(const Dim& a, const Dim& b) { return min(a, b); }
};

struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return maximum(a, b);
  }
  static Dim follow(const Dim& a, const Dim& b) { return max(a, b); }
};

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_add(a, b);
  }
  static Dim follow(const Dim& a, const Dim& b) { return a + b; }
};

void infer_variadic(InferContext& context) {
  require_one_type(context, 0, context.input_count());
  infer_broadcast(context);
}

template <class Op>
void infer_variadic_arithmetic(InferContext& context) {
  infer_variadic(context);
  std::vector<FollowedInput> inputs;
  for (size_t i = 0; i < context.input_count(); ++i) inputs.emplace_back(context, i);
  follow_elements(context, [&](size_t at) {
    auto result = inputs[0][at];
    for (size_t i = 1; i < inputs.size() && result; ++i) {
      const auto next = inputs[i][at];
      result = next ? std::optional(Op::follow(*result, *next)) : std::nullopt;
    }
    return result;
  });
}

// Combines all inputs, element by element of the broadcast sizes `out`.
template <class T, class Op>
std::vector<T> combine(const ReferenceContext& context, const Dims& out, Op op) {
  std::vector<T> result(static_cast<size_t>(element_count(out)));
  for (size_t input = 0; input < context.input_count(); ++input) {
    const auto x = arithmetic_elements<T>(context, input);
    for_each_broadcast<1>(
        out, {&context.dims(input)},
        [&](int64_t begin, int64_t count, std::array<int64_t, 1> at, std::array<int64_t, 1> step) {
          for (int64_t i = 0; i < count; ++i) {
            T& element = result[static_cast<size_t>(begin + i)];
            const T next = x[at[0] + i * step[0]];
            element = input == 0 ? next : op(element, next);
          }
        });
  }
  return result;
}

template <class Op>
void reference_variadic_arithmetic(ReferenceContext& context) {
  const Dims out = context.out_dims(0);
  bool real = false;
  for (size_t i = 0; i < context.input_count(); ++i) real = real || is_float(context.in(i).type());
  visit_arithmetic(real ? ElementType::kDouble : context.in(0).type(),
                   [&]<class T>(T) { store_arithmetic(context, 0, out, combine<T>(context, out, Op())); });
}

void mean(ReferenceContext& context) {
  const Dims out = context.out_dims(0);
  auto result = combine<double>(context, out, Sum());
  for (double& element : result) element /= static_cast<double>(context.input_count());
  context.store(0, out, result);
}

void add(OpRegistry& registry, const char* name, void (*infer_variadic_arithmetic)(InferContext&),
         void (*reference_variadic_arithmetic)(ReferenceContext&), uint32_t traits,
         PrecisionClass precision = PrecisionClass::kByTraits) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .repeats = 1,
                .attributes = {{"consumed_inputs", "INTS"}},
                .traits = kPointwise | traits,
                .precision = precision,
                .since = {13, 1},
                .infer = infer_variadic_arithmetic,
                .reference = reference_variadic_arithmetic});
}

}  // namespace

void register_variadic_arithmetic(OpRegistry& registry) {
  add(registry, "Min", infer_variadic_arithmetic<Min>, reference_variadic_arithmetic<Min>, kRoundsNothing,
      PrecisionClass::kBounded);
  add(registry, "Max", infer_variadic_arithmetic<Max>, reference_variadic_arithmetic<Max>, kRoundsNothing,
      PrecisionClass::kBounded);
  add(registry, "Sum", infer_variadic_arithmetic<Sum>, reference_variadic_arithmetic<Sum>, kSums);
  add(registry, "Mean", infer_variadic, mean, kFewRoundings);
}

}  // namespace vernier::ops
