// LSTM, gates in the order i (input), o (output), f (forget), c (cell): c' = f * c + i * candidate, h' = o *
// h(c'). Peepholes (order i, o, f) let the gates see the cell; input_forget couples them, f = 1 - i.
#include "vernier/ops/support/recurrent.h"

namespace vernier::ops {

namespace {

enum Gate : int64_t { kInput, kOutput, kForget, kCandidate, kGates };

void advance(Step& step, bool input_forget) {
  const Recurrence& r = step.direction.recurrence;
  const auto recurrent = step.recurrent_product(step.hidden, 0, kGates);
  const Activation &f = step.direction.activation[0], &g = step.direction.activation[1],
                   &h = step.direction.activation[2];
  const double* peepholes = step.direction.peepholes;
  for (int64_t s = 0; s < r.batch; ++s) {
    const double* projected = step.projected[static_cast<size_t>(s)];
    if (projected == nullptr) continue;
    const double* products = recurrent.data() + s * kGates * r.hidden;
    for (int64_t i = 0; i < r.hidden; ++i) {
      const auto sum = [&](Gate gate) {
        return projected[gate * r.hidden + i] + products[gate * r.hidden + i] + step.bias(gate, i);
      };
      const auto peep = [&](Gate gate, double cell) {
        return peepholes == nullptr ? 0 : peepholes[gate * r.hidden + i] * cell;
      };
      const auto at = static_cast<size_t>(s * r.hidden + i);
      const double before = step.cell[at];
      const double input = f(sum(kInput) + peep(kInput, before));
      const double forget = input_forget ? 1 - input : f(sum(kForget) + peep(kForget, before));
      const double cell = forget * before + input * g(sum(kCandidate));
      step.cell[at] = cell;
      step.hidden[at] = f(sum(kOutput) + peep(kOutput, cell)) * h(cell);
    }
  }
}

void infer(InferContext& context) {
  infer_recurrent(context, 2);
}

void reference(ReferenceContext& context) {
  const bool input_forget = context.attribute<int64_t>("input_forget", 0) != 0;
  run_recurrence(context, Recurrence(context, kGates, {"Sigmoid", "Tanh", "Tanh"}), 6, 7,
                 [=](Step& step) { advance(step, input_forget); });
}

}  // namespace

void register_lstm(OpRegistry& registry) {
  registry.add({.op = "LSTM",
                .min_inputs = 3,
                .max_inputs = 8,
                .min_outputs = 0,
                .max_outputs = 3,
                .attributes = recurrent_attributes({{"input_forget", "INT"}}),
                .traits = kContraction,
                .infer = infer,
                .reference = reference,
                .flops = recurrent_flops});
}

}  // namespace vernier::ops
