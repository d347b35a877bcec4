// com.microsoft MatMulBnb4: A * B^T (transB 1, the default) or A * B with a B [N, K] of 4-bit floats of
// bitsandbytes, FP4 or NF4 (Dettmers et al., "QLoRA", 2023), times the largest magnitude of each block of
// `block_size` elements of B, flattened. Of two elements in a byte the first is in the high half.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/gemm.h"
#include "vernier/ops/support/quant/packed_weights.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kA, kB, kLargest };

// Sign, two bits of exponent, one of mantissa, and a subnormal number of its own.
constexpr std::array<float, 16> kFp4 = {
    0.0F,  5.208333333e-03F,  0.66666667F,  1.0F,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
    -0.0F, -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
// Quantiles of the normal distribution, scaled to [-1, 1].
constexpr std::array<float, 16> kNf4 = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};

struct Weights {
  int64_t n, k, block_size;
  bool transposed, normal;

  explicit Weights(const Node& node)
      : n(integer_attribute(node, "N")),
        k(integer_attribute(node, "K")),
        block_size(integer_attribute(node, "block_size")),
        transposed(integer_attribute(node, "transB") != 0),
        normal(node.attribute<int64_t>("quant_type", 1) == 1) {
    require_extents(n, k);
    if (block_size < 1 || block_size > kMaxWeightExtent) throw bad_input("blocks of {} elements", block_size);
  }
};

void infer_matmul_bnb4(InferContext& context) {
  const Weights weights(context.node());
  if (weights.transposed)
    infer_last_axis(context, kA, weights.k, weights.n);
  else
    infer_last_axis(context, kA, weights.n, weights.k);
}

// [n, k]
std::vector<double> dequantized(const ReferenceContext& context, const Weights& weights) {
  const int64_t count = weights.n * weights.k;
  const auto bytes = packed_bytes(context, kB, (count + 1) / 2, "B");
  require_size(context, kLargest, (count + weights.block_size - 1) / weights.block_size, "absmax");
  const auto largest = context.reals(kLargest);
  const auto& codes = weights.normal ? kNf4 : kFp4;
  std::vector<double> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int byte = bytes[static_cast<size_t>(i / 2)], code = i % 2 == 0 ? byte >> 4 : byte & 15;
    result[static_cast<size_t>(i)] =
        static_cast<double>(codes[static_cast<size_t>(code)]) * largest[i / weights.block_size];
  }
  return result;
}

void reference_matmul_bnb4(ReferenceContext& context) {
  const Weights weights(context.node());
  const auto a = context.factors(kA);
  const auto b = rounded(Elements(dequantized(context, weights)), context.roundings().operands);
  if (weights.transposed) return context.store(0, times_transposed(a.span(), b.span(), weights.n, weights.k));
  const int64_t rows = a.size() / weights.n;
  std::vector<double> product(static_cast<size_t>(rows * weights.k));
  gemm(false, false, rows, weights.k, weights.n, a.data(), weights.n, b.data(), weights.k, product.data(),
       weights.k);
  context.store(0, product);
}

double flops_matmul_bnb4(const Node& node, const std::vector<Dims>& inputs, const std::vector<Dims>&) {
  const Weights weights(node);
  if (inputs.empty()) return 0;
  return 2.0 * static_cast<double>(element_count(inputs[0])) *
         static_cast<double>(weights.transposed ? weights.n : weights.k);
}

}  // namespace

void register_matmul_bnb4(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "MatMulBnb4",
                .operands = {Role::kData, Role::kWeight, Role::kWeightScale},
                .attributes = {{"K", "INT"},
                               {"N", "INT"},
                               {"block_size", "INT"},
                               {"quant_type", "INT"},
                               {"training_mode", "INT"},
                               {"transB", "INT"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .infer = infer_matmul_bnb4,
                .reference = reference_matmul_bnb4,
                .flops = flops_matmul_bnb4});
}

}  // namespace vernier::ops
