// RNN: h' = f(x W + h R + bias).
#include "vernier/ops/support/nn/recurrent.h"

namespace vernier::ops {

namespace {

void advance(Step& step) {
  const Recurrence& r = step.direction.recurrence;
  const auto recurrent = step.recurrent_product(step.hidden, 0, 1);
  for (int64_t s = 0; s < r.batch; ++s) {
    const double* projected = step.projected[static_cast<size_t>(s)];
    if (projected == nullptr) continue;
    for (int64_t i = 0; i < r.hidden; ++i) {
      const auto at = static_cast<size_t>(s * r.hidden + i);
      step.hidden[at] = step.direction.activation[0](projected[i] + recurrent[at] + step.bias(0, i));
    }
  }
}

void infer_rnn(InferContext& context) {
  infer_recurrent(context, 1);
}

void reference_rnn(ReferenceContext& context) {
  run_recurrence(context, Recurrence(context, 1, {"Tanh"}, plain_weights(context)), 0, 0, advance);
}

}  // namespace

void register_rnn(OpRegistry& registry) {
  registry.add(
      {.op = "RNN",
       .operands = {Role::kData, Role::kWeight, Role::kWeight, Role::kBias, Role::kLengths, Role::kState},
       .optional_inputs = 3,
       .min_outputs = 0,
       .max_outputs = 2,
       .attributes = recurrent_attributes({}),
       .traits = kContraction | kRecurrent,
       .precision = PrecisionClass::kUntried,
       .since = {22, 1},
       .infer = infer_rnn,
       .reference = reference_rnn,
       .flops = recurrent_flops});
}

}  // namespace vernier::ops
