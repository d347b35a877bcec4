// Where: elements of the second input where the condition holds, else of the third; all broadcast, any
// element type.
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

void infer_where(InferContext& context) {
  if (context.element(0) != ElementType::kBool) throw bad_input("the condition of Where must be BOOL");
  require_one_type(context, 1, 3);
  context.set_output(0, context.element(1), broadcast_inputs(context, 0, 3));
  const FollowedInput condition(context, 0), chosen(context, 1), other(context, 2);
  follow_elements(context, [&](size_t i) -> std::optional<Dim> {
    const auto truth = condition[i], yes = chosen[i], no = other[i];
    if (truth) return *truth == Dim(0) ? no : yes;
    return yes && no && *yes == *no ? yes : std::nullopt;
  });
}

template <class T>
void select(const Dims& out, const Tensor& condition, std::span<const T> yes, const Dims& yes_dims,
            std::span<const T> no, const Dims& no_dims, std::span<T> result) {
  const auto truth = condition.values<bool>();
  for_each_broadcast<3>(
      out, {&condition.dims(), &yes_dims, &no_dims},
      [&](int64_t begin, int64_t count, std::array<int64_t, 3> at, std::array<int64_t, 3> step) {
        for (int64_t i = 0; i < count; ++i) {
          const auto position = [&](size_t k) { return static_cast<size_t>(at[k] + i * step[k]); };
          result[static_cast<size_t>(begin + i)] = truth[position(0)] ? yes[position(1)] : no[position(2)];
        }
      });
}

void reference_where(ReferenceContext& context) {
  const Dims out = context.out_dims(0);
  const Tensor &condition = context.in(0), &yes = context.in(1), &no = context.in(2);
  Tensor& result = context.allocate(0, out);
  // In ideal mode one of two quantized tensors may be unrounded.
  const auto stored = [&](const Tensor& x) {
    return x.type() == result.type() ? x : Tensor::from_doubles(result.type(), x.dims(), x.to_doubles());
  };
  const Tensor left = stored(yes), right = stored(no);
  visit_element_type(result.type(), [&]<class T>(TypeTag<T>) {
    select<T>(out, condition, left.values<T>(), left.dims(), right.values<T>(), right.dims(),
              result.mutable_values<T>());
  });
}

}  // namespace

void register_where(OpRegistry& registry) {
  registry.add({.op = "Where",
                .operands = {Role::kMask, Role::kData, Role::kData},
                .traits = kPointwise | kDataMovement | kRoundsNothing,
                .since = {16, 9},
                .infer = infer_where,
                .reference = reference_where});
}

}  // namespace vernier::ops
