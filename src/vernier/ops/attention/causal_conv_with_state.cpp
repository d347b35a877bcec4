// CausalConvWithState: a depthwise convolution over time of x [batch, channels, length] that looks back k - 1
// steps, into the past state [batch, channels, k - 1] or zeros, with an optional SiLU; and the state for what
// follows.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/nn/activations.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kWeight, kBias, kPastState };

void infer_causal_conv_with_state(InferContext& context) {
  const ElementType type = context.element(kX);
  const auto &x = context.shape(kX), &weight = context.shape(kWeight);
  if (x && x->size() != 3) throw bad_input("x {} must be of rank 3", shape_text(*x));
  if (weight && (weight->size() != 3 || ((*weight)[2].is_constant() && *(*weight)[2].constant() < 1))) {
    throw bad_input("weights {} must be of rank 3 and not empty", shape_text(*weight));
  }
  context.set_output(0, type, x);
  context.set_output(1, type,
                     x && weight ? std::optional(Shape{(*x)[0], (*x)[1], (*weight)[2] - 1}) : std::nullopt);
}

bool uses_silu(const Node& node) {
  const auto activation = node.attribute<std::string>("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    throw bad_input("the activation '{}' is not known", activation);
  return activation != "none";
}

// The past state, or zeros, before x: [batch, channels, history + length].
std::vector<double> with_history(const ReferenceContext& context, int64_t history) {
  const Dims& dims = context.dims(kX);
  const int64_t rows = dims[0] * dims[1], length = dims[2], width = history + length;
  if (context.has(kPastState) && context.dims(kPastState) != Dims{dims[0], dims[1], history}) {
    throw bad_input("past_state {} does not fit x {} and a look back of {}",
                    dims_text(context.dims(kPastState)), dims_text(dims), history);
  }
  const auto x = context.reals(kX);
  const auto past = context.has(kPastState)
                        ? context.reals(kPastState)
                        : Elements<double>(std::vector<double>(static_cast<size_t>(rows * history)));
  std::vector<double> result(static_cast<size_t>(rows * width));
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(past.data() + row * history, history, result.data() + row * width);
    std::copy_n(x.data() + row * length, length, result.data() + row * width + history);
  }
  return result;
}

void reference_causal_conv_with_state(ReferenceContext& context) {
  const Dims &dims = context.dims(kX), &weight_dims = context.dims(kWeight);
  const int64_t channels = dims[1], length = dims[2], taps = weight_dims[2], width = length + taps - 1,
                rows = dims[0] * channels;
  if (weight_dims != Dims{channels, 1, taps})
    throw bad_input("weights {} do not fit x {}", dims_text(weight_dims), dims_text(dims));
  if (context.has(kBias) && context.in(kBias).size() != channels)
    throw bad_input("the bias must have {} elements", channels);
  const auto padded = with_history(context, taps - 1);
  const auto weight = context.reals(kWeight);
  const auto bias = context.has(kBias) ? context.reals(kBias)
                                       : Elements<double>(std::vector<double>(static_cast<size_t>(channels)));
  const bool silu_follows = uses_silu(context.node());
  std::vector<double> y(static_cast<size_t>(rows * length)), state(static_cast<size_t>(rows * (taps - 1)));
  parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double *x = padded.data() + row * width, *kernel = weight.data() + row % channels * taps;
      for (int64_t i = 0; i < length; ++i) {
        double sum = bias[row % channels];
        for (int64_t tap = 0; tap < taps; ++tap) sum += x[i + tap] * kernel[tap];
        y[static_cast<size_t>(row * length + i)] = silu_follows ? silu(sum) : sum;
      }
      std::copy_n(x + length, taps - 1, state.data() + row * (taps - 1));
    }
  });
  context.store(0, y);
  context.store(1, state);
}

double flops_causal_conv_with_state(const Node&, const std::vector<Dims>& inputs,
                                    const std::vector<Dims>& outputs) {
  if (inputs.size() <= kWeight || inputs[kWeight].empty() || outputs.empty()) return 0;
  return 2.0 * static_cast<double>(element_count(outputs[0])) * static_cast<double>(inputs[kWeight].back());
}

}  // namespace

void register_causal_conv_with_state(OpRegistry& registry) {
  registry.add({.op = "CausalConvWithState",
                .operands = {Role::kData, Role::kWeight, Role::kBias, Role::kState},
                .optional_inputs = 2,
                .max_outputs = 2,
                .attributes = {{"activation", "STRING"}},
                .traits = kContraction | kConvolution,
                .precision = PrecisionClass::kAlways,
                .since = kNoNarrowFloats,
                .output_channels = 0,
                .infer = infer_causal_conv_with_state,
                .reference = reference_causal_conv_with_state,
                .flops = flops_causal_conv_with_state});
}

}  // namespace vernier::ops
