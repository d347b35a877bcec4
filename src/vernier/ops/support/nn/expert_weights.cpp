#include "vernier/ops/support/nn/expert_weights.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/quant/packed_weights.h"

namespace vernier::ops {

namespace {

const Dims& weight_dims(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert) {
  const Dims& dims = context.dims(layer.weights);
  if (dims.size() != 3 || expert >= dims[0])
    throw bad_input("weights {} have no expert {}", dims_text(dims), expert);
  return dims;
}

int64_t weight_bits(const ReferenceContext& context, const ExpertLayer& layer) {
  constexpr std::array<const char*, 3> kNames = {"fc1_expert_weight_bits", "fc2_expert_weight_bits",
                                                 "fc3_expert_weight_bits"};
  const auto common = context.attribute<int64_t>("expert_weight_bits", 4);
  const auto bits = context.attribute<int64_t>(kNames[layer.index], common);
  if (bits != 2 && bits != 4 && bits != 8) throw bad_input("weights of {} bits", bits);
  return bits;
}

// Zero points of one expert, [outputs, blocks].
std::vector<double> zero_points(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert,
                                int64_t outputs, int64_t blocks, bool blocked) {
  constexpr size_t kFirstZeroPoint = 11;
  const size_t input = kFirstZeroPoint + layer.index;
  const int64_t bits = weight_bits(context, layer);
  if (!context.has(input))
    return std::vector<double>(static_cast<size_t>(outputs * blocks), static_cast<double>(1 << (bits - 1)));
  // Without blocks the points of all outputs are one row.
  const int64_t rows = blocked ? outputs : 1, columns = blocked ? blocks : outputs;
  const int64_t size = rows * ((columns * bits + 7) / 8);
  const auto bytes =
      packed_bytes(context, input, weight_dims(context, layer, expert)[0] * size, "zero points");
  return unpacked_rows(bytes.subspan(static_cast<size_t>(expert * size), static_cast<size_t>(size)), rows,
                       columns, bits);
}

}  // namespace

ExpertMatrix real_expert(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert) {
  const Dims& dims = weight_dims(context, layer, expert);
  ExpertMatrix matrix{dims[1], dims[2], std::vector<double>(static_cast<size_t>(dims[1] * dims[2]))};
  context.in(layer.weights).read_doubles(expert * dims[1] * dims[2], matrix.values);
  return matrix;
}

ExpertMatrix integer_expert(const ReferenceContext& context, const ExpertLayer& layer, int64_t expert) {
  const Dims& dims = weight_dims(context, layer, expert);
  const int64_t bits = weight_bits(context, layer), outputs = dims[1], inputs = dims[2] * 8 / bits;
  const auto given = integer_attribute(context.node(), "block_size");
  const int64_t block = given > 0 ? given : std::max<int64_t>(1, inputs);
  const int64_t blocks = (inputs + block - 1) / block;
  const size_t scale_input = layer.weights + 1;
  require_size(context, scale_input, dims[0] * outputs * blocks, "scales");
  std::vector<double> scales(static_cast<size_t>(outputs * blocks));
  context.in(scale_input).read_doubles(expert * outputs * blocks, scales);
  const auto points = zero_points(context, layer, expert, outputs, blocks, given > 0);
  const auto bytes = packed_bytes(context, layer.weights, element_count(dims), "weights");
  ExpertMatrix matrix{
      outputs, inputs,
      unpacked_rows(bytes.subspan(static_cast<size_t>(expert * outputs * dims[2])), outputs, inputs, bits)};
  for (size_t i = 0; i < matrix.values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const auto parameter = static_cast<size_t>(at / inputs * blocks + at % inputs / block);
    matrix.values[i] = (matrix.values[i] - points[parameter]) * scales[parameter];
  }
  return matrix;
}

}  // namespace vernier::ops
