// com.microsoft FusedGemm: activation(alpha * op(A) * op(B) + beta * C), where op transposes if told.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/gemm_layout.h"
#include "vernier/ops/support/nn/fused_epilogue.h"

namespace vernier::ops {

namespace {

void infer_fused_gemm(InferContext& context) {
  const auto &a = context.shape(0), &b = context.shape(1);
  context.set_output(0, context.element(0), std::nullopt);
  if (a && b) context.set_output(0, context.element(0), GemmLayout(context.node()).product(*a, *b));
}

// The activation's parameters; what the node leaves out has the default of the activation.
std::vector<float> activation_parameters(const Node& node) {
  std::vector<float> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (node.find_attribute(name) == nullptr) break;
    parameters.push_back(node.attribute<float>(name, 0));
  }
  return parameters;
}

void reference_fused_gemm(ReferenceContext& context) {
  const auto a = context.factors(0), b = context.factors(1);
  auto y = GemmLayout(context.node()).multiply(a.data(), context.dims(0), b.data(), context.dims(1));
  const double alpha = real_attribute(context.node(), "alpha");
  for (double& value : y) value *= alpha;
  const Dims dims = context.out_dims(0);
  add_bias(context, 2, dims, y, real_attribute(context.node(), "beta"));
  activate(text_attribute(context.node(), "activation"), activation_parameters(context.node()), y);
  context.store(0, dims, y);
}

}  // namespace

void register_fused_gemm(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "FusedGemm",
                .operands = {Role::kData, Role::kWeight, Role::kBias},
                .optional_inputs = 1,
                .attributes = {{"activation", "STRING"},
                               {"activation_alpha", "FLOAT"},
                               {"activation_beta", "FLOAT"},
                               {"activation_gamma", "FLOAT"},
                               {"alpha", "FLOAT"},
                               {"beta", "FLOAT"},
                               {"transA", "INT"},
                               {"transB", "INT"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .output_channels = -1,
                .infer = infer_fused_gemm,
                .reference = reference_fused_gemm,
                .flops = gemm_flops});
}

}  // namespace vernier::ops
