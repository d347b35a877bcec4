// com.microsoft FusedGemm: activation(alpha * op(A) * op(B) + beta * C), where op transposes if told.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/fused_epilogue.h"
#include "vernier/ops/support/gemm.h"

namespace vernier::ops {

namespace {

struct Layout {
  bool transpose_a, transpose_b;

  explicit Layout(const Node& node)
      : transpose_a(node.attribute<int64_t>("transA", 0) != 0),
        transpose_b(node.attribute<int64_t>("transB", 0) != 0) {}
};

void infer(InferContext& context) {
  const auto &a = context.shape(0), &b = context.shape(1);
  context.set_output(0, context.element(0), std::nullopt);
  if (!a || !b) return;
  if (a->size() != 2 || b->size() != 2)
    throw bad_input("FusedGemm multiplies matrices, not {} and {}", shape_text(*a), shape_text(*b));
  const Layout layout(context.node());
  const Dim &left = (*a)[layout.transpose_a ? 0 : 1], &right = (*b)[layout.transpose_b ? 1 : 0];
  if (left.is_constant() && right.is_constant() && left != right) {
    throw bad_input("matrices {} and {} cannot be multiplied", shape_text(*a), shape_text(*b));
  }
  context.set_output(0, context.element(0),
                     Shape{(*a)[layout.transpose_a ? 1 : 0], (*b)[layout.transpose_b ? 0 : 1]});
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

void reference(ReferenceContext& context) {
  const Layout layout(context.node());
  const Dims dims = context.out_dims(0);
  const auto a = context.reals(0), b = context.reals(1);
  const int64_t k = context.dims(0)[layout.transpose_a ? 0 : 1];
  std::vector<double> y(static_cast<size_t>(element_count(dims)));
  gemm(layout.transpose_a, layout.transpose_b, dims[0], dims[1], k, a.data(), context.dims(0)[1], b.data(),
       context.dims(1)[1], y.data(), dims[1]);
  const double alpha = context.attribute<float>("alpha", 1);
  for (double& value : y) value *= alpha;
  add_bias(context, 2, dims, y, context.attribute<float>("beta", 1));
  activate(context.attribute<std::string>("activation", ""), activation_parameters(context.node()), y);
  context.store(0, dims, y);
}

double flops(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  return 2.0 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(inputs[0][Layout(node).transpose_a ? 0 : 1]);
}

}  // namespace

void register_fused_gemm(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "FusedGemm",
                .min_inputs = 2,
                .max_inputs = 3,
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
                .infer = infer,
                .reference = reference,
                .flops = flops});
}

}  // namespace vernier::ops
