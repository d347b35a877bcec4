// Gemm: alpha * A * B + beta * C on matrices, A and B transposed on demand, C broadcast to the product. C is
// optional since opset 11; before 7 it broadcasts only with broadcast = 1. Integers are legal since 9.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/gemm_layout.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

void infer_gemm(InferContext& context) {
  require_one_type(context, 0, 3);
  context.set_output(0, context.element(0), std::nullopt);
  const auto &a = context.shape(0), &b = context.shape(1);
  if (!a || !b) return;
  Shape shape = GemmLayout(context.node()).product(*a, *b);
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
  const GemmLayout layout(context.node());
  const Dims out = layout.product(context.dims(0), context.dims(1));
  const auto a = product_operand<T>(context, 0), b = product_operand<T>(context, 1);
  const Elements<T> product(layout.multiply(a.data(), context.dims(0), b.data(), context.dims(1)));
  const Elements<T> bias = context.has(2) ? arithmetic_elements<T>(context, 2) : Elements<T>({T{0}});
  const Dims bias_dims = context.has(2) ? context.dims(2) : Dims{};
  store_arithmetic(context, 0, out, zip<T>(product, out, bias, bias_dims, out, [=](T x, T c) {
                     return wrapping_add(wrapping_multiply(alpha, x), wrapping_multiply(beta, c));
                   }));
}

void reference_gemm(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  const double beta = context.has(2) ? real_attribute(context.node(), "beta") : 0;
  const auto exact = [](double x) { return x == std::trunc(x) && std::abs(x) < 0x1p53; };
  visit_ring(context, [&]<class T>(T) {
    if (std::is_same_v<T, int64_t> && exact(alpha) && exact(beta)) {
      compute<int64_t>(context, static_cast<int64_t>(alpha), static_cast<int64_t>(beta));
    } else {
      compute<double>(context, alpha, beta);
    }
  });
}

}  // namespace

void register_gemm(OpRegistry& registry) {
  registry.add({.op = "Gemm",
                .operands = {Role::kData, Role::kWeight, Role::kBias},
                .optional_inputs = 1,
                .attributes = {{"alpha", "FLOAT"},
                               {"beta", "FLOAT"},
                               {"transA", "INT"},
                               {"transB", "INT"},
                               {"broadcast", "INT"}},
                .traits = kContraction | kSums | kProducts,
                .precision = PrecisionClass::kAlways,
                .since = {13, 1},
                .output_channels = -1,
                .infer = infer_gemm,
                .reference = reference_gemm,
                .flops = gemm_flops});
}

}  // namespace vernier::ops
