// com.microsoft Attention: multi-head self-attention with its projection, input * weights + bias. Past and
// present hold keys and values in one tensor. QAttention: the same with 8-bit inputs and weights.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/attention/projected_attention.h"
#include "vernier/ops/support/math/matmul.h"
#include "vernier/ops/support/nn/fused_epilogue.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kInput, kWeights, kBias };
enum QuantizedInput : size_t { kInputScale = 3, kWeightScale, kMask, kInputZeroPoint, kWeightZeroPoint };
constexpr size_t kAbsent = 99;
constexpr ProjectedAttention kReal{kInput, kWeights, 3, 4, 5},
    kQuantized{kInput, kWeights, kMask, 8, kAbsent};

void infer_real(InferContext& context) {
  infer_projected_attention(context, kReal, context.element(kInput));
}
void infer_quantized(InferContext& context) {
  infer_projected_attention(context, kQuantized, context.element(kBias));
}

void run(ReferenceContext& context, const ProjectedAttention& inputs, std::span<const double> input,
         std::span<const double> weights) {
  const Dims &input_dims = context.dims(kInput), &weight_dims = context.dims(kWeights);
  auto projection = matmul(input, input_dims, weights, weight_dims);
  add_bias(context, kBias, {input_dims[0], input_dims[1], weight_dims[1]}, projection);
  run_projected_attention(context, inputs, std::move(projection));
}

void reference_real(ReferenceContext& context) {
  const auto input = context.factors(kInput), weights = context.factors(kWeights);
  run(context, kReal, input.span(), weights.span());
}

void reference_quantized(ReferenceContext& context) {
  const auto input = dequantize_columns(context, kInput, kInputScale, kInputZeroPoint);
  const auto weights = dequantize_columns(context, kWeights, kWeightScale, kWeightZeroPoint);
  run(context, kQuantized, input, weights);
}

// Projection, scores and values.
double flops_microsoft_attention(const Node&, const std::vector<Dims>& inputs,
                                 const std::vector<Dims>& outputs) {
  if (inputs.size() <= kWeights || inputs[kInput].size() != 3 || outputs.empty() || outputs[0].empty())
    return 0;
  const double rows = static_cast<double>(inputs[kInput][0] * inputs[kInput][1]);
  const double keys = static_cast<double>(inputs[kInput][1]), hidden = static_cast<double>(outputs[0].back());
  return 2 * rows * static_cast<double>(element_count(inputs[kWeights])) + 4 * rows * keys * hidden;
}

}  // namespace

void register_microsoft_attention(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "Attention",
            .operands = {Role::kData, Role::kWeight, Role::kBias, Role::kMask, Role::kState, Role::kMask,
                         Role::kLengths},
            .optional_inputs = 5,
            .max_outputs = 2,
            .attributes = {{"do_rotary", "INT"},
                           {"mask_filter_value", "FLOAT"},
                           {"num_heads", "INT"},
                           {"past_present_share_buffer", "INT"},
                           {"qkv_hidden_sizes", "INTS"},
                           {"rotary_embedding_dim", "INT"},
                           {"scale", "FLOAT"},
                           {"unidirectional", "INT"}},
            .traits = kContraction | kNormalisation,
            .precision = PrecisionClass::kAlways,
            .infer = infer_real,
            .reference = reference_real,
            .flops = flops_microsoft_attention};
  registry.add(def);
  def.op = "QAttention";
  def.optional_inputs = 4;
  def.operands = {Role::kData,      Role::kWeight,          Role::kBias,
                  Role::kScale,     Role::kWeightScale,     Role::kMask,
                  Role::kZeroPoint, Role::kWeightZeroPoint, Role::kState};
  def.infer = infer_quantized;
  def.reference = reference_quantized;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
