// Softmax, LogSoftmax, Hardmax along an axis. Before opset 13 the input was first flattened to a matrix at
// the axis.
#include "vernier/ops/support/nn/softmax.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

struct Rows {
  int64_t outer, length, inner;  // element (o, i, k) lies at (o * length + i) * inner + k
};

Rows rows_of(const ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const bool flattens = softmax_flattens(context.node());
  const auto axis = static_cast<size_t>(
      normalize_axis(softmax_axis(context.node()), std::max<int64_t>(1, static_cast<int64_t>(dims.size()))));
  if (flattens) return {product(dims, 0, axis), product(dims, axis, dims.size()), 1};
  if (dims.empty()) return {1, 1, 1};
  return {product(dims, 0, axis), dims[axis], product(dims, axis + 1, dims.size())};
}

// Calls row(x, y, step) for each row: `length` elements, `step` apart.
template <class Row>
void for_each_row(ReferenceContext& context, Row row) {
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(x.size()));
  const Rows rows = rows_of(context);
  parallel_for(rows.outer * rows.inner, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, rows.length)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const int64_t start = r / rows.inner * rows.length * rows.inner + r % rows.inner;
                   if (rows.length > 0) row(x.data() + start, y.data() + start, rows.length, rows.inner);
                 }
               });
  context.store(0, context.dims(0), y);
}

void log_softmax(const double* x, double* y, int64_t length, int64_t step) {
  const double top = largest(x, length, step);
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += std::exp(x[i * step] - top);
  for (int64_t i = 0; i < length; ++i) y[i * step] = x[i * step] - top - std::log(sum);
}

void hardmax(const double* x, double* y, int64_t length, int64_t step) {
  int64_t best = 0;  // the first of equals
  for (int64_t i = 1; i < length; ++i) {
    if (x[i * step] > x[best * step]) best = i;
  }
  y[best * step] = 1;
}

template <void (*Row)(const double*, double*, int64_t, int64_t)>
void add(OpRegistry& registry, const char* name, PrecisionClass precision = PrecisionClass::kNeverLower) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .attributes = {{"axis", "INT"}},
                .traits = kNormalisation,
                .precision = precision,
                .since = {13, 1},
                .infer = infer_same_as_input,
                .reference = [](ReferenceContext& context) { for_each_row(context, Row); }});
}

}  // namespace

void register_softmax(OpRegistry& registry) {
  add<softmax>(registry, "Softmax", PrecisionClass::kComputedWide);
  add<log_softmax>(registry, "LogSoftmax");
  add<hardmax>(registry, "Hardmax");
}

}  // namespace vernier::ops
