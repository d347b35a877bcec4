// GRU, gates in the order z (update), r (reset), h (candidate): h' = (1 - z) * candidate + z * h. The reset
// gate meets the state before its product with R, or after it (and its bias) with linear_before_reset (from
// opset 3).
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/recurrent.h"

namespace vernier::ops {

namespace {

enum Gate : int64_t { kUpdate, kReset, kCandidate };

struct Gates {
  std::vector<double> update, reset;  // [batch, hidden]
};

Gates gates_of(const Step& step) {
  const Recurrence& r = step.direction.recurrence;
  const auto recurrent = step.recurrent_product(step.hidden, kUpdate, 2);
  Gates gates{std::vector<double>(step.hidden.size()), std::vector<double>(step.hidden.size())};
  for (int64_t s = 0; s < r.batch; ++s) {
    const double* projected = step.projected[static_cast<size_t>(s)];
    if (projected == nullptr) continue;
    for (int64_t i = 0; i < r.hidden; ++i) {
      const auto at = static_cast<size_t>(s * r.hidden + i);
      const auto gate = [&](int64_t which) {
        const double sum =
            projected[which * r.hidden + i] + recurrent[static_cast<size_t>((2 * s + which) * r.hidden + i)];
        return step.direction.activation[0](sum + step.bias(which, i));
      };
      gates.update[at] = gate(kUpdate);
      gates.reset[at] = gate(kReset);
    }
  }
  return gates;
}

void advance(Step& step, bool linear_before_reset) {
  const Recurrence& r = step.direction.recurrence;
  const Gates gates = gates_of(step);
  std::vector<double> state = step.hidden;
  if (!linear_before_reset) {
    for (size_t i = 0; i < state.size(); ++i) state[i] *= gates.reset[i];
  }
  const auto recurrent = step.recurrent_product(state, kCandidate, 1);
  const double *input_bias = step.direction.input_bias, *recurrent_bias = step.direction.recurrent_bias;
  for (int64_t s = 0; s < r.batch; ++s) {
    const double* projected = step.projected[static_cast<size_t>(s)];
    if (projected == nullptr) continue;
    for (int64_t i = 0; i < r.hidden; ++i) {
      const auto at = static_cast<size_t>(s * r.hidden + i);
      const int64_t column = kCandidate * r.hidden + i;
      double linear = recurrent[at] + (recurrent_bias == nullptr ? 0 : recurrent_bias[column]);
      if (linear_before_reset) linear *= gates.reset[at];
      const double input = projected[column] + (input_bias == nullptr ? 0 : input_bias[column]);
      const double candidate = step.direction.activation[1](input + linear);
      step.hidden[at] = (1 - gates.update[at]) * candidate + gates.update[at] * step.hidden[at];
    }
  }
}

void infer_gru(InferContext& context) {
  infer_recurrent(context, 1);
}

void reference_gru(ReferenceContext& context) {
  const bool linear_before_reset = integer_attribute(context.node(), "linear_before_reset") != 0;
  run_recurrence(context, Recurrence(context, 3, {"Sigmoid", "Tanh"}, plain_weights(context)), 0, 0,
                 [=](Step& step) { advance(step, linear_before_reset); });
}

}  // namespace

void register_gru(OpRegistry& registry) {
  registry.add(
      {.op = "GRU",
       .operands = {Role::kData, Role::kWeight, Role::kWeight, Role::kBias, Role::kLengths, Role::kState},
       .optional_inputs = 3,
       .min_outputs = 0,
       .max_outputs = 2,
       .attributes = recurrent_attributes({{"linear_before_reset", "INT"}}),
       .traits = kContraction | kRecurrent,
       .precision = PrecisionClass::kUntried,
       .since = {22, 1},
       .infer = infer_gru,
       .reference = reference_gru,
       .flops = recurrent_flops});
}

}  // namespace vernier::ops
