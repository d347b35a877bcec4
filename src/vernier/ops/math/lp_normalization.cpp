// LpNormalization: x over its L1 or L2 norm along an axis; where the norm is zero, the result is.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::ops {

namespace {

void infer_lp_normalization(InferContext& context) {
  context.set_type(0, context.type(0));
}

void reference_lp_normalization(ReferenceContext& context) {
  const AxisRows rows(context.dims(0), integer_attribute(context.node(), "axis"));
  const int64_t p = context.attribute<int64_t>("p", 2);
  if (p != 1 && p != 2) throw bad_input("p of LpNormalization is {}, not 1 or 2", p);
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(x.size()));
  for_each_row(rows, [&](int64_t row) {
    const double* in = x.data() + rows.start(row);
    double* out = y.data() + rows.start(row);
    double sum = 0;
    for (int64_t i = 0; i < rows.length; ++i) {
      const double element = in[i * rows.inner];
      sum += p == 1 ? std::abs(element) : element * element;
    }
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (int64_t i = 0; i < rows.length; ++i) out[i * rows.inner] = norm == 0 ? 0 : in[i * rows.inner] / norm;
  });
  context.store(0, context.dims(0), y);
}

}  // namespace

void register_lp_normalization(OpRegistry& registry) {
  registry.add({.op = "LpNormalization",
                .operands = {Role::kData},
                .attributes = {{"axis", "INT"}, {"p", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower,
                .since = {22, 1},
                .infer = infer_lp_normalization,
                .reference = reference_lp_normalization});
}

}  // namespace vernier::ops
