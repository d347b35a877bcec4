// com.microsoft FusedMatMul: alpha * op(A) * op(B) as numpy.matmul. op first moves axis 0 before the last
// (transBatch), then exchanges the last two axes (trans). GemmFastGelu: FastGelu(X * W + bias).
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/matmul.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/activations.h"
#include "vernier/ops/support/nn/fused_epilogue.h"

namespace vernier::ops {

namespace {

// The axes of operand `input`, in the order that the multiplication wants.
std::vector<size_t> axes_order(const Node& node, size_t input, size_t rank) {
  std::vector<size_t> axes(rank);
  for (size_t i = 0; i < rank; ++i) axes[i] = i;
  if (rank < 2) return axes;  // a vector has nothing to exchange
  if (node.attribute<int64_t>(input == 0 ? "transBatchA" : "transBatchB", 0) != 0)
    std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (node.attribute<int64_t>(input == 0 ? "transA" : "transB", 0) != 0)
    std::swap(axes[rank - 1], axes[rank - 2]);
  return axes;
}

template <class Size>
std::vector<Size> permuted(const std::vector<Size>& dims, const std::vector<size_t>& axes) {
  std::vector<Size> result;
  result.reserve(axes.size());
  for (const size_t axis : axes) result.push_back(dims[axis]);
  return result;
}

void infer_fused_matmul(InferContext& context) {
  const auto &a = context.shape(0), &b = context.shape(1);
  context.set_output(0, context.element(0), std::nullopt);
  if (!a || !b) return;
  context.set_output(0, context.element(0),
                     matmul_shape(permuted(*a, axes_order(context.node(), 0, a->size())),
                                  permuted(*b, axes_order(context.node(), 1, b->size()))));
}

// The operand with its axes in the wanted order.
std::vector<double> transposed(const ReferenceContext& context, size_t input, Dims& dims) {
  const auto x = context.factors(input);
  const auto axes = axes_order(context.node(), input, context.dims(input).size());
  const auto strides = permuted(strides_of(context.dims(input)), axes);
  dims = permuted(context.dims(input), axes);
  std::vector<double> result;
  result.reserve(static_cast<size_t>(x.size()));
  for_each_index(dims, [&](const Dims& index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    result.push_back(x[at]);
  });
  return result;
}

void reference_fused_matmul(ReferenceContext& context) {
  Dims a_dims, b_dims;
  const auto a = transposed(context, 0, a_dims), b = transposed(context, 1, b_dims);
  auto product = matmul<double>(a, a_dims, b, b_dims);
  const double alpha = real_attribute(context.node(), "alpha");
  for (double& value : product) value *= alpha;
  context.store(0, product);
}

void gelu_reference(ReferenceContext& context) {
  const auto x = context.factors(0), w = context.factors(1);
  auto y = matmul(x.span(), context.dims(0), w.span(), context.dims(1));
  add_bias(context, 2, context.out_dims(0), y);
  for (double& value : y) value = gelu_tanh(value);
  context.store(0, y);
}

double flops_fused_matmul(const Node& node, const std::vector<Dims>& inputs,
                          const std::vector<Dims>& outputs) {
  if (inputs.empty() || inputs[0].empty() || outputs.empty()) return 0;
  const auto axes = axes_order(node, 0, inputs[0].size());
  return 2.0 * static_cast<double>(element_count(outputs[0])) * static_cast<double>(inputs[0][axes.back()]);
}

}  // namespace

void register_fused_matmul(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "FusedMatMul",
            .operands = {Role::kData, Role::kWeight},
            .attributes = {{"alpha", "FLOAT"},
                           {"transA", "INT"},
                           {"transB", "INT"},
                           {"transBatchA", "INT"},
                           {"transBatchB", "INT"}},
            .traits = kContraction,
            .precision = PrecisionClass::kAlways,
            .output_channels = -1,
            .infer = infer_fused_matmul,
            .reference = reference_fused_matmul,
            .flops = flops_fused_matmul};
  registry.add(def);
  def.op = "TransposeMatMul";  // its name before the batch axes
  def.attributes.resize(3);
  registry.add(def);
  def.op = "GemmFastGelu";
  def.operands.push_back(Role::kBias);
  def.optional_inputs = 1;
  def.attributes = {};
  def.reference = gelu_reference;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
