// IsNaN and IsInf (of either sign, as detect_negative and detect_positive say), to BOOL.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

void infer_is_nan(InferContext& context) {
  context.set_output(0, ElementType::kBool, context.shape(0));
}

template <class F>
void map_predicate(ReferenceContext& context, F f) {
  const auto x = context.reals(0);
  std::vector<int64_t> y(static_cast<size_t>(x.size()));
  parallel_for(x.size(), kPointwiseGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[static_cast<size_t>(i)] = f(x[i]);
  });
  context.store_ints(0, context.dims(0), y);
}

void is_nan(ReferenceContext& context) {
  map_predicate(context, [](double x) { return std::isnan(x); });
}

void is_inf(ReferenceContext& context) {
  const bool negative = integer_attribute(context.node(), "detect_negative") != 0;
  const bool positive = integer_attribute(context.node(), "detect_positive") != 0;
  map_predicate(context, [=](double x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

}  // namespace

void register_is_nan(OpRegistry& registry) {
  registry.add({.op = "IsNaN",
                .operands = {Role::kData},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_is_nan,
                .reference = is_nan});
  registry.add({.op = "IsInf",
                .operands = {Role::kData},
                .attributes = {{"detect_negative", "INT"}, {"detect_positive", "INT"}},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_is_nan,
                .reference = is_inf});
}

}  // namespace vernier::ops
