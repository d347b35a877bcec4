// com.microsoft MatMulNBits: A * B^T + bias with a B [N, K] of `bits` wide integers, packed lowest bits first
// in blocks of `block_size` along K, each with a scale and a zero point (packed likewise for each row, or a
// real; default 2^(bits-1)). A group index assigns another block's parameters to each k.
#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/fused_epilogue.h"
#include "vernier/ops/support/quant/packed_weights.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };

struct Weights {
  int64_t n, k, bits, block_size, blocks;

  explicit Weights(const Node& node)
      : n(integer_attribute(node, "N")),
        k(integer_attribute(node, "K")),
        bits(integer_attribute(node, "bits")),
        block_size(integer_attribute(node, "block_size")) {
    require_extents(n, k);
    if (bits < 1 || bits > 8) throw bad_input("weights of {} bits", bits);
    if (block_size < 1 || block_size > kMaxWeightExtent) throw bad_input("blocks of {} elements", block_size);
    blocks = (k + block_size - 1) / block_size;
  }
  int64_t block_bytes() const { return (block_size * bits + 7) / 8; }
  int64_t zero_point_bytes() const { return (blocks * bits + 7) / 8; }
};

void infer_matmul_nbits(InferContext& context) {
  const Weights weights(context.node());
  infer_last_axis(context, kA, weights.k, weights.n);
}

// [n, blocks]
std::vector<double> zero_points(const ReferenceContext& context, const Weights& weights) {
  const auto count = static_cast<size_t>(weights.n * weights.blocks);
  if (!context.has(kZeroPoints))
    return std::vector<double>(count, static_cast<double>(int64_t{1} << (weights.bits - 1)));
  if (context.declared(kZeroPoints) != ElementType::kUint8) {
    require_size(context, kZeroPoints, weights.n * weights.blocks, "zero_points");
    return context.in(kZeroPoints).to_doubles();
  }
  const auto bytes =
      packed_bytes(context, kZeroPoints, weights.n * weights.zero_point_bytes(), "zero_points");
  return unpacked_rows(bytes, weights.n, weights.blocks, weights.bits);
}

// The block whose parameters belong to each k.
std::vector<int64_t> groups(const ReferenceContext& context, const Weights& weights) {
  std::vector<int64_t> result(static_cast<size_t>(weights.k));
  const bool given = context.has(kGroupIndex);
  // A group index may be padded to whole blocks.
  const auto indices = given ? context.int_list(kGroupIndex) : std::vector<int64_t>();
  if (given && static_cast<int64_t>(indices.size()) < weights.k)
    throw bad_input("g_idx has {} elements for K = {}", indices.size(), weights.k);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = given ? indices[i] : static_cast<int64_t>(i) / weights.block_size;
    if (result[i] < 0 || result[i] >= weights.blocks)
      throw bad_input("g_idx {} of {} blocks", result[i], weights.blocks);
  }
  return result;
}

// [n, k]
std::vector<double> dequantized_weights(const ReferenceContext& context, const Weights& weights) {
  const auto packed = packed_bytes(context, kB, weights.n * weights.blocks * weights.block_bytes(), "B");
  require_size(context, kScales, weights.n * weights.blocks, "scales");
  const auto scales = context.reals(kScales);
  const auto points = zero_points(context, weights);
  const auto group = groups(context, weights);
  std::vector<double> result(static_cast<size_t>(weights.n * weights.k));
  parallel_for(weights.n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = 0; k < weights.k; ++k) {
        const uint8_t* block =
            packed.data() + (row * weights.blocks + k / weights.block_size) * weights.block_bytes();
        const int64_t parameter = row * weights.blocks + group[static_cast<size_t>(k)];
        const auto q = static_cast<double>(unpacked(block, k % weights.block_size, weights.bits));
        result[static_cast<size_t>(row * weights.k + k)] =
            (q - points[static_cast<size_t>(parameter)]) * scales[parameter];
      }
    }
  });
  return result;
}

void reference_matmul_nbits(ReferenceContext& context) {
  const Weights weights(context.node());
  const auto a = context.factors(kA);
  const auto b = rounded(Elements(dequantized_weights(context, weights)), context.roundings().operands);
  auto product = times_transposed(a.span(), b.span(), weights.n, weights.k);
  const Dims dims = context.out_dims(0);
  add_bias(context, kBias, dims, product);
  context.store(0, dims, product);
}

double flops_matmul_nbits(const Node& node, const std::vector<Dims>&, const std::vector<Dims>& outputs) {
  if (outputs.empty()) return 0;
  return 2.0 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(integer_attribute(node, "K"));
}

}  // namespace

void register_matmul_nbits(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "MatMulNBits",
                .operands = {Role::kData, Role::kWeight, Role::kWeightScale, Role::kWeightZeroPoint,
                             Role::kIndices, Role::kBias},
                .optional_inputs = 3,
                .attributes = {{"K", "INT"},
                               {"N", "INT"},
                               {"accuracy_level", "INT"},
                               {"bits", "INT"},
                               {"block_size", "INT"},
                               {"weight_prepacked", "INT"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .output_channels = 0,
                .infer = infer_matmul_nbits,
                .reference = reference_matmul_nbits,
                .flops = flops_matmul_nbits});
}

}  // namespace vernier::ops
