// ArgMax, ArgMin: the index of the extremum along an axis, the first of equals unless select_last_index
// (opset 12). A NaN is taken for the extremum, as numpy does.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::ops {

namespace {

void infer_arg_extremum(InferContext& context) {
  context.set_output(0, ElementType::kInt64, std::nullopt);
  const auto& in = context.shape(0);
  if (!in) return;
  Shape shape = *in;
  const auto axis =
      normalize_axis(integer_attribute(context.node(), "axis"), static_cast<int64_t>(shape.size()));
  if (shape[static_cast<size_t>(axis)] == Dim(0)) throw bad_input("{} over no elements", context.node().op);
  if (integer_attribute(context.node(), "keepdims") != 0)
    shape[static_cast<size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  context.set_output(0, ElementType::kInt64, std::move(shape));
}

// Whether `x` takes the place of the best so far.
template <class T, class Better>
bool replaces(T x, T best, bool last_wins, Better better) {
  if (is_nan(x) || is_nan(best)) return is_nan(x) && (last_wins || !is_nan(best));
  return better(x, best) || (last_wins && x == best);
}

template <class Better>
void reference_arg_extremum(ReferenceContext& context) {
  const AxisRows rows(context.dims(0), integer_attribute(context.node(), "axis"));
  const bool last_wins = integer_attribute(context.node(), "select_last_index") != 0;
  std::vector<int64_t> result(static_cast<size_t>(rows.count()));
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    const auto x = arithmetic_elements<T>(context, 0);
    for_each_row(rows, [&](int64_t row) {
      const int64_t start = rows.start(row);
      int64_t best = 0;
      for (int64_t i = 1; i < rows.length; ++i) {
        if (replaces(x[start + i * rows.inner], x[start + best * rows.inner], last_wins, Better())) best = i;
      }
      result[static_cast<size_t>(row)] = best;
    });
  });
  context.store_ints(0, context.out_dims(0), result);
}

template <class Better>
void add(OpRegistry& registry, const char* name) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .attributes = {{"axis", "INT"}, {"keepdims", "INT"}, {"select_last_index", "INT"}},
                .traits = kReduction | kRoundsNothing,
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_arg_extremum,
                .reference = reference_arg_extremum<Better>});
}

}  // namespace

void register_arg_extremum(OpRegistry& registry) {
  add<std::greater<>>(registry, "ArgMax");
  add<std::less<>>(registry, "ArgMin");
}

}  // namespace vernier::ops
