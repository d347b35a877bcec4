// com.microsoft GatedRMSNorm: runs of as many elements as there are scales, divided by their root mean
// square, times the scales and an activation (SiLU or sigmoid) of a gate. BranchwiseRMSNorm: the same without
// gate, for branches of the last axis, or of num_branches parts of it, whose scales may differ.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/activations.h"
#include "vernier/ops/support/nn/normalise.h"

namespace vernier::ops {

namespace {

constexpr size_t kX = 0, kScale = 1, kGate = 2;

// The input in runs of `size` elements, normalised and scaled. `scale_dims` tells how scales repeat.
std::vector<double> normalised(const ReferenceContext& context, int64_t size, Dims dims,
                               const Dims& scale_dims, std::span<const double> scale) {
  auto values = context.in(kX).to_doubles();
  if (values.empty()) return values;
  if (context.dims(kX).empty()) throw bad_input("a scalar has no rows");
  if (size < 1 || context.dims(kX).back() % size != 0)
    throw bad_input("{} cannot be divided into runs of {}", dims_text(context.dims(kX)), size);
  const size_t axis = dims.size() - 1;
  normalise_values(values,
                   {.dims = std::move(dims),
                    .axis = axis,
                    .centred = false,
                    .epsilon = static_cast<double>(context.attribute<float>("epsilon", 1e-5F)),
                    .scale_dims = scale_dims,
                    .bias_dims = {0}},
                   scale, {});
  return values;
}

void gated_reference(ReferenceContext& context) {
  const auto scale = context.reals(kScale), gate = context.reals(kGate);
  const int64_t size = scale.size(), count = context.in(kX).size();
  if (gate.size() != count) throw bad_input("{} gates for {} elements", gate.size(), count);
  const auto name = context.attribute<std::string>("activation", "silu");
  if (name != "silu" && name != "swish" && name != "sigmoid") throw bad_input("activation '{}'", name);
  auto values = normalised(context, size, {count / std::max<int64_t>(1, size), size}, {size}, scale.span());
  for (size_t i = 0; i < values.size(); ++i) {
    const double g = gate[static_cast<int64_t>(i)];
    values[i] *= name == "sigmoid" ? sigmoid(g) : silu(g);
  }
  context.store(0, context.dims(kX), values);
}

void branchwise_reference(ReferenceContext& context) {
  const Dims& dims = context.dims(kX);
  const auto flat = context.attribute<int64_t>("num_branches", 0);
  if (dims.size() < (flat > 0 ? 1U : 2U)) throw bad_input("{} has no branches", dims_text(dims));
  const int64_t branches = flat > 0 ? flat : dims[dims.size() - 2];
  const int64_t size = flat > 0 ? dims.back() / flat : dims.back();
  const auto scale = context.has(kScale) ? context.reals(kScale) : Elements<double>(std::vector<double>{1});
  const bool shared = scale.size() == size || !context.has(kScale);
  if (!shared && scale.size() != branches * size)
    throw bad_input("{} scales for {} branches of {}", scale.size(), branches, size);
  const int64_t rows = context.in(kX).size() / std::max<int64_t>(1, branches * size);
  context.store(0, dims,
                normalised(context, size, {rows, branches, size},
                           shared ? Dims{scale.size()} : Dims{branches, size}, scale.span()));
}

}  // namespace

void register_gated_rms_norm(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "GatedRMSNorm",
            .operands = {Role::kData, Role::kData, Role::kGain},
            .attributes = {{"activation", "STRING"}, {"epsilon", "FLOAT"}},
            .traits = kNormalisation,
            .precision = PrecisionClass::kNeverLower,
            .infer = infer_same_as_input,
            .reference = gated_reference};
  registry.add(def);
  def.op = "BranchwiseRMSNorm";
  def.optional_inputs = 1;
  def.operands = {Role::kData, Role::kGain};
  def.attributes = {{"epsilon", "FLOAT"}, {"num_branches", "INT"}};
  def.reference = branchwise_reference;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
