// LSTM, gates in the order i (input), o (output), f (forget), c (cell): c' = f * c + i * candidate, h' = o *
// h(c'). Peepholes (order i, o, f) let the gates see the cell; input_forget couples them, f = 1 - i.
// com.microsoft DynamicQuantizeLSTM: the same by 8-bit weights; what they are multiplied with, all inputs and
// the hidden states of one step, is quantized by its own range before.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/recurrent.h"

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

void infer_lstm(InferContext& context) {
  infer_recurrent(context, 2);
}

void infer_quantized(InferContext& context) {
  infer_recurrent(context, 2, 1);
}

enum QuantizedInput : size_t { kW = 1, kR, kWScale = 8, kWZeroPoint, kRScale, kRZeroPoint };

// Quantized weights [directions, inputs, gates * hidden] as reals [directions, gates * hidden, inputs].
// Scales and zero points are of each direction, or of each of its columns.
Elements<double> dequantized(const ReferenceContext& context, size_t input, size_t scale, size_t zero_point) {
  const Dims& dims = context.dims(input);
  if (dims.size() != 3) throw bad_input("weights {} must be of rank 3", dims_text(dims));
  const int64_t directions = dims[0], rows = dims[1], columns = dims[2], units = directions * columns;
  const auto scales = context.reals(scale), points = context.reals(zero_point);
  for (const auto* parameters : {&scales, &points}) {
    if (parameters->size() != directions && parameters->size() != units)
      throw bad_input("{} quantization parameters for weights {}", parameters->size(), dims_text(dims));
  }
  const auto quantized = context.reals(input);
  std::vector<double> weights(static_cast<size_t>(quantized.size()));
  for (int64_t unit = 0; unit < units; ++unit) {
    const auto of_unit = [&](const Elements<double>& all) {
      return all[all.size() == units ? unit : unit / columns];
    };
    for (int64_t row = 0; row < rows; ++row) {
      const double q = quantized[(unit / columns * rows + row) * columns + unit % columns];
      weights[static_cast<size_t>(unit * rows + row)] = (q - of_unit(points)) * of_unit(scales);
    }
  }
  return Elements<double>(std::move(weights));
}

RecurrentWeights quantized_weights(const ReferenceContext& context) {
  return {.hidden = context.dims(kR)[1],
          .input = dequantized(context, kW, kWScale, kWZeroPoint),
          .recurrent = dequantized(context, kR, kRScale, kRZeroPoint),
          .dynamic = !context.ideal()};
}

template <RecurrentWeights (*weights_of)(const ReferenceContext&)>
void reference_lstm(ReferenceContext& context) {
  const bool input_forget = integer_attribute(context.node(), "input_forget") != 0;
  run_recurrence(context, Recurrence(context, kGates, {"Sigmoid", "Tanh", "Tanh"}, weights_of(context)), 6, 7,
                 [=](Step& step) { advance(step, input_forget); });
}

}  // namespace

void register_lstm(OpRegistry& registry) {
  OpDef def{.op = "LSTM",
            .operands = {Role::kData, Role::kWeight, Role::kWeight, Role::kBias, Role::kLengths, Role::kState,
                         Role::kCell, Role::kGain},
            .optional_inputs = 5,
            .min_outputs = 0,
            .max_outputs = 3,
            .attributes = recurrent_attributes({{"input_forget", "INT"}}),
            .traits = kContraction | kRecurrent,
            .precision = PrecisionClass::kUntried,
            .since = {22, 1},
            .infer = infer_lstm,
            .reference = reference_lstm<plain_weights>,
            .flops = recurrent_flops};
  registry.add(def);
  def.domain = "com.microsoft";
  def.op = "DynamicQuantizeLSTM";
  def.optional_inputs = 0;
  def.operands = {Role::kData,        Role::kWeight,          Role::kWeight,      Role::kBias,
                  Role::kLengths,     Role::kState,           Role::kCell,        Role::kGain,
                  Role::kWeightScale, Role::kWeightZeroPoint, Role::kWeightScale, Role::kWeightZeroPoint};
  def.infer = infer_quantized;
  def.reference = reference_lstm<quantized_weights>;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
