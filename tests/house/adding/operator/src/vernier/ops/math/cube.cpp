// Cube: the third power of each element.
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

void infer_cube(InferContext& context) {
  context.set_output(0, context.element(0), context.shape(0));
}

void cube(ReferenceContext& context) {
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) y[static_cast<size_t>(i)] = x[i] * x[i] * x[i];
  context.store(0, context.dims(0), y);
}

}  // namespace

void register_cube(OpRegistry& registry) {
  registry.add({.domain = "com.example",
                .op = "Cube",
                .operands = {Role::kData},
                .traits = kPointwise | kFewRoundings,
                .infer = infer_cube,
                .reference = cube});
}

}  // namespace vernier::ops
