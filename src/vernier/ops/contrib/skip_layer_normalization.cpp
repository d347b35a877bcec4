// com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization: normalises each row of input + skip
// + bias, the simplified one by its root mean square. The sum is an output, too.
// SimplifiedLayerNormalization: RMSNormalization as ONNX Runtime had it before ONNX, in the domain ai.onnx.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/fused_epilogue.h"
#include "vernier/ops/support/nn/normalise.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kInput, kSkip, kGamma, kBeta };
enum Output : size_t { kOut, kMean, kInverseDeviation, kSum };

std::optional<Shape> statistics_shape(std::optional<Shape> shape, int64_t axis) {
  if (shape)
    std::fill(shape->begin() + normalize_axis(axis, static_cast<int64_t>(shape->size())), shape->end(),
              Dim(1));
  return shape;
}

void infer_skip(InferContext& context) {
  const auto& input = context.shape(kInput);
  if (input && input->empty()) throw bad_input("a scalar has no rows");
  for (const size_t output : {kOut, kSum}) context.set_output(output, context.element(kInput), input);
  for (const size_t output : {kMean, kInverseDeviation})
    context.set_output(output, ElementType::kFloat, statistics_shape(input, -1));
}

template <bool Centred>
void skip_reference(ReferenceContext& context) {
  constexpr size_t kBias = Centred ? kBeta + 1 : kBeta;
  const Dims& dims = context.dims(kInput);
  auto values = context.in(kInput).to_doubles();
  add_bias(context, kSkip, dims, values);
  add_bias(context, kBias, dims, values);
  context.store(kSum, dims, values);
  const auto gamma = context.reals(kGamma),
             beta = Centred && context.has(kBeta) ? context.reals(kBeta) : Elements<double>();
  const auto statistics =
      normalise_values(values,
                       {.dims = dims,
                        .axis = dims.size() - 1,
                        .centred = Centred,
                        .epsilon = static_cast<double>(real_attribute(context.node(), "epsilon")),
                        .scale_dims = context.dims(kGamma),
                        .bias_dims = Dims{beta.size()}},
                       gamma.span(), beta.span());
  context.store(kOut, dims, values);
  context.store(kMean, statistics.mean);
  context.store(kInverseDeviation, statistics.inverse_deviation);
}

void infer_simplified(InferContext& context) {
  const auto& x = context.shape(0);
  context.set_output(0, context.element(1), x);
  const bool wide = context.attribute<int64_t>("stash_type", 1) == static_cast<int64_t>(ElementType::kDouble);
  context.set_output(1, wide ? ElementType::kDouble : ElementType::kFloat,
                     statistics_shape(x, context.attribute<int64_t>("axis", -1)));
}

void simplified_reference(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const int64_t axis = normalize_axis(context.attribute<int64_t>("axis", -1), context.in(0).rank());
  const auto statistics =
      normalise_rows(context, {.dims = dims,
                               .axis = static_cast<size_t>(axis),
                               .centred = false,
                               .epsilon = static_cast<double>(real_attribute(context.node(), "epsilon")),
                               .scale_dims = context.dims(1),
                               .bias_dims = {}});
  context.store(1, statistics.inverse_deviation);
}

}  // namespace

void register_skip_layer_normalization(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "SkipLayerNormalization",
            .operands = {Role::kData, Role::kData, Role::kGain, Role::kBias, Role::kBias},
            .optional_inputs = 2,
            .max_outputs = 4,
            .attributes = {{"epsilon", "FLOAT"}},
            .traits = kNormalisation,
            .precision = PrecisionClass::kNeverLower,
            .infer = infer_skip,
            .reference = skip_reference<true>};
  registry.add(def);
  def.op = "SkipSimplifiedLayerNormalization";
  def.operands.pop_back();
  def.optional_inputs = 1;
  def.reference = skip_reference<false>;
  registry.add(def);
  registry.add({.op = "SimplifiedLayerNormalization",
                .operands = {Role::kData, Role::kGain},
                .max_outputs = 2,
                .attributes = {{"axis", "INT"}, {"epsilon", "FLOAT"}, {"stash_type", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower,
                .since = kNoNarrowFloats,
                .infer = infer_simplified,
                .reference = simplified_reference});
}

}  // namespace vernier::ops
