// TopK: the k largest (or smallest) elements along an axis and their indices, in order; the lower index comes
// first among equals, and a NaN is larger than any number. k is an attribute before opset 10, an input since.
#include <numeric>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::ops {

namespace {

// Nothing if k is an input whose content is not known.
std::optional<Dim> wanted_count(const InferContext& context) {
  if (context.version() < 10) return Dim(context.attribute<int64_t>("k", 0));
  const auto& content = context.dims(1);
  if (!content) return std::nullopt;
  if (content->size() != 1) throw bad_input("K of TopK must have one element, not {}", content->size());
  return content->front();
}

void infer_top_k(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  context.set_output(1, ElementType::kInt64, std::nullopt);
  const auto& in = context.shape(0);
  const auto count = wanted_count(context);
  if (!in) return;
  Shape shape = *in;
  Dim& along = shape[static_cast<size_t>(
      normalize_axis(integer_attribute(context.node(), "axis"), static_cast<int64_t>(shape.size())))];
  const Dim k = count ? *count : context.fresh("topk");
  if (k.is_constant() && (*k.constant() < 0 || (along.is_constant() && *k.constant() > *along.constant()))) {
    throw bad_input("TopK of {} elements out of {}", k.text(), along.text());
  }
  along = k;
  context.set_output(0, context.element(0), shape);
  context.set_output(1, ElementType::kInt64, std::move(shape));
}

// Strict order of values, NaN on top.
template <class T>
bool is_larger(T a, T b) {
  return is_nan(a) ? !is_nan(b) : a > b;
}

// Puts the indices of the `k` first elements of a row in front, in order.
template <class T>
void select(std::vector<int64_t>& order, int64_t k, bool largest, const T* row, int64_t step) {
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [=](int64_t a, int64_t b) {
    const T left = row[a * step], right = row[b * step];
    if (largest ? is_larger(left, right) : is_larger(right, left)) return true;
    return !(largest ? is_larger(right, left) : is_larger(left, right)) && a < b;
  });
}

void reference_top_k(ReferenceContext& context) {
  const int64_t axis = integer_attribute(context.node(), "axis");
  const bool largest = integer_attribute(context.node(), "largest") != 0;
  const AxisRows rows(context.dims(0), axis);
  const Dims out = context.out_dims(context.wants(0) ? 0 : 1);
  const int64_t k = out[static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(out.size())))];
  std::vector<int64_t> indices(static_cast<size_t>(element_count(out)));
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    const auto x = arithmetic_elements<T>(context, 0);
    std::vector<T> values(indices.size());
    for_each_row(rows, [&](int64_t row) {
      std::vector<int64_t> order(static_cast<size_t>(rows.length));
      const T* in = x.data() + rows.start(row);
      select(order, k, largest, in, rows.inner);
      for (int64_t i = 0; i < k; ++i) {
        const auto at = static_cast<size_t>(rows.start(row, k) + i * rows.inner);
        indices[at] = order[static_cast<size_t>(i)];
        values[at] = in[indices[at] * rows.inner];
      }
    });
    store_arithmetic(context, 0, out, values);
  });
  context.store_ints(1, out, indices);
}

}  // namespace

void register_top_k(OpRegistry& registry) {
  registry.add({.op = "TopK",
                .operands = {Role::kData, Role::kSizes},
                .optional_inputs = 1,
                .min_outputs = 2,
                .max_outputs = 2,
                .attributes = {{"axis", "INT"}, {"k", "INT"}, {"largest", "INT"}, {"sorted", "INT"}},
                .traits = kReduction | kRoundsNothing,
                .precision = PrecisionClass::kUntried,
                .since = {24, 1},
                .infer = infer_top_k,
                .reference = reference_top_k});
}

}  // namespace vernier::ops
