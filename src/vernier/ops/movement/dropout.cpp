// Dropout: passes its input on, unless it trains: then it zeroes elements with probability `ratio` and scales
// up the rest. It trains where opset 1 and 6 do not set is_test, never from opset 7 on, and from 12 where
// training_mode is true.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/random.h"

namespace vernier::ops {

namespace {

bool trains(const ReferenceContext& context) {
  if (context.version() >= 12) return context.integer(2, 0) != 0;
  return context.version() < 7 && context.attribute<int64_t>("is_test", 0) == 0;
}

double ratio_of(const ReferenceContext& context) {
  const double ratio =
      context.version() >= 12 ? context.real(1, 0.5) : context.attribute<float>("ratio", 0.5f);
  if (!(ratio >= 0 && ratio < 1)) throw bad_input("the ratio {} of Dropout is not in [0, 1)", ratio);
  return ratio;
}

void infer_dropout(InferContext& context) {
  context.set_type(0, context.type(0));
  context.set_output(1, context.version() < 10 ? context.element(0) : ElementType::kBool, context.shape(0));
}

void reference_dropout(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  std::vector<double> mask(static_cast<size_t>(context.in(0).size()), 1);
  if (!trains(context)) {
    context.emit(0, context.in(0));
    return context.store(1, dims, mask);
  }
  const double ratio = ratio_of(context), scale = 1 / (1 - ratio);
  RandomSource random(context.node());
  const auto x = context.reals(0);
  std::vector<double> y(mask.size());
  for (size_t i = 0; i < mask.size(); ++i) {
    mask[i] = random.uniform() >= ratio ? 1 : 0;
    y[i] = x[static_cast<int64_t>(i)] * mask[i] * scale;
  }
  context.store(0, dims, y);
  context.store(1, dims, mask);
}

}  // namespace

void register_dropout(OpRegistry& registry) {
  registry.add(
      {.op = "Dropout",
       .operands = {Role::kData, Role::kSetting, Role::kSetting},
       .optional_inputs = 2,
       .max_outputs = 2,
       .attributes = {{"ratio", "FLOAT"}, {"is_test", "INT"}, {"seed", "INT"}, {"consumed_inputs", "INTS"}},
       .traits = kPointwise | kFewRoundings,
       .since = {13, 1},
       .infer = infer_dropout,
       .reference = reference_dropout,
       .flops = no_flops});
}

}  // namespace vernier::ops
