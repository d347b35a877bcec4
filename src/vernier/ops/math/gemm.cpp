// Gemm: alpha * A * B + beta * C on matrices, A and B transposed on demand, C broadcast to the product. C is
// optional since opset 11; before 7 it broadcasts only with broadcast = 1. Integers are legal since 9.
#include "vernier/ops/support/gemm.h"

#include "vernier/ops/op_def.h"
#include "vernier/ops/support/matmul.h"
#include "vernier/ops/support/wrapping.h"

namespace vernier::ops {

namespace {

bool transposes(const Node& node, const char* name) {
  return node.attribute<int64_t>(name, 0) != 0;
}

// The matrix as it enters the product.
template <class Size>
std::vector<Size> operand(const Node& node, const char* transpose, std::vector<Size> shape) {
  if (shape.size() != 2) throw bad_input("Gemm takes matrices, not tensors of rank {}", shape.size());
  if (transposes(node, transpose)) std::swap(shape[0], shape[1]);
  return shape;
}

void infer(InferContext& context) {
  require_one_type(context, 0, 3);
  context.set_output(0, context.element(0), std::nullopt);
  const auto &a = context.shape(0), &b = context.shape(1);
  if (!a || !b) return;
  Shape shape = matmul_shape(operand(context.node(), "transA", *a), operand(context.node(), "transB", *b));
  if (context.has(2) && context.shape(2)) {
    const auto own = to_dims(shape), common = to_dims(broadcast(shape, *context.shape(2)));
    if (context.shape(2)->size() > 2 || (own && common && *own != *common)) {
      throw bad_input("C {} does not broadcast to {}", shape_text(*context.shape(2)), shape_text(shape));
    }
  }
  context.set_output(0, context.element(0), std::move(shape));
}

template <class T>
void compute(ReferenceContext& context, T alpha, T beta) {
  const Node& node = context.node();
  const Dims a = operand(node, "transA", context.dims(0)), b = operand(node, "transB", context.dims(1));
  const Dims out = matmul_shape(a, b);
  std::vector<T> result(static_cast<size_t>(element_count(out)));
  gemm(transposes(node, "transA"), transposes(node, "transB"), a[0], b[1], a[1],
       arithmetic_elements<T>(context, 0).data(), context.dims(0)[1],
       arithmetic_elements<T>(context, 1).data(), context.dims(1)[1], result.data(), b[1]);
  const Elements<T> product(std::move(result));
  const Elements<T> bias = context.has(2) ? arithmetic_elements<T>(context, 2) : Elements<T>({T{0}});
  const Dims bias_dims = context.has(2) ? context.dims(2) : Dims{};
  store_arithmetic(context, 0, out, zip<T>(product, out, bias, bias_dims, out, [=](T x, T c) {
                     return wrapping_add(wrapping_multiply(alpha, x), wrapping_multiply(beta, c));
                   }));
}

void reference(ReferenceContext& context) {
  const double alpha = context.attribute<float>("alpha", 1);
  const double beta = context.has(2) ? context.attribute<float>("beta", 1) : 0;
  const auto exact = [](double x) { return x == std::trunc(x) && std::abs(x) < 0x1p53; };
  visit_ring(context, [&]<class T>(T) {
    if (std::is_same_v<T, int64_t> && exact(alpha) && exact(beta)) {
      compute<int64_t>(context, static_cast<int64_t>(alpha), static_cast<int64_t>(beta));
    } else {
      compute<double>(context, alpha, beta);
    }
  });
}

double flops(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  if (inputs.empty() || inputs[0].size() != 2 || outputs.empty()) return 0;
  const int64_t inner = inputs[0][transposes(node, "transA") ? 0 : 1];
  return 2.0 * static_cast<double>(inner) * static_cast<double>(element_count(outputs[0]));
}

}  // namespace

void register_gemm(OpRegistry& registry) {
  registry.add({.op = "Gemm",
                .min_inputs = 2,
                .max_inputs = 3,
                .attributes = {{"alpha", "FLOAT"},
                               {"beta", "FLOAT"},
                               {"transA", "INT"},
                               {"transB", "INT"},
                               {"broadcast", "INT"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .infer = infer,
                .reference = reference,
                .flops = flops});
}

}  // namespace vernier::ops
