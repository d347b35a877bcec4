// com.microsoft GatherBlockQuantized: Gather from data that is quantized in blocks along quantize_axis, as
// reals. Data of UINT8 are packed along the last axis, lowest bits first, with zero points packed likewise
// (default 2^(bits-1)); of other types each element stands for itself. An index outside of the data gives
// zeros.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/index_offsets.h"
#include "vernier/ops/support/quant/packed_weights.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kData, kIndices, kScales, kZeroPoints };

struct Layout {
  int64_t gather_axis, quantize_axis, block_size, bits;
  bool packed;

  Layout(const Node& node, ElementType data, size_t rank)
      : gather_axis(normalize_axis(integer_attribute(node, "gather_axis"), static_cast<int64_t>(rank))),
        quantize_axis(
            normalize_axis(node.attribute<int64_t>("quantize_axis", 1), static_cast<int64_t>(rank))),
        block_size(integer_attribute(node, "block_size")),
        bits(integer_attribute(node, "bits")),
        packed(data == ElementType::kUint8) {
    if (block_size < 0 || (packed && block_size < 1)) throw bad_input("blocks of {} elements", block_size);
    if (packed && bits != 2 && bits != 4 && bits != 8) throw bad_input("elements of {} bits", bits);
    if (packed && gather_axis != 0) throw bad_input("packed data are gathered along axis 0 only");
  }

  // Sizes in elements.
  template <class Size>
  std::vector<Size> unpacked_dims(std::vector<Size> dims) const {
    if (packed) dims.back() = dims.back() * Size(8 / bits);
    return dims;
  }
};

void infer_gather_block_quantized(InferContext& context) {
  const auto &data = context.shape(kData), &indices = context.shape(kIndices);
  context.set_output(0, context.element(kScales), std::nullopt);
  if (!data || !indices) return;
  const Layout layout(context.node(), context.element(kData), data->size());
  context.set_output(
      0, context.element(kScales),
      gathered_shape(layout.unpacked_dims(*data), static_cast<size_t>(layout.gather_axis), *indices));
}

// One for each scale.
std::vector<double> zero_points(const ReferenceContext& context, const Layout& layout) {
  const Dims& dims = context.dims(kScales);
  const auto count = static_cast<size_t>(element_count(dims));
  if (!context.has(kZeroPoints))
    return std::vector<double>(count,
                               layout.packed ? static_cast<double>(int64_t{1} << (layout.bits - 1)) : 0);
  const int64_t row = dims.back(), rows = product(dims, 0, dims.size() - 1);
  if (!layout.packed) {
    require_size(context, kZeroPoints, static_cast<int64_t>(count), "zero_points");
    return context.in(kZeroPoints).to_doubles();
  }
  const auto bytes = packed_bytes(context, kZeroPoints, rows * ((row * layout.bits + 7) / 8), "zero_points");
  return unpacked_rows(bytes, rows, row, layout.bits);
}

// The quantized elements [first, first + to.size()) of the data, whose rows have `row` elements.
void read_elements(const Tensor& data, const Layout& layout, int64_t row, int64_t first,
                   std::span<double> to) {
  if (!layout.packed) return data.read_doubles(first, to);
  const uint8_t* bytes = data.values<uint8_t>().data();
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t at = first + static_cast<int64_t>(i);
    to[i] = static_cast<double>(unpacked(bytes + at / row * (row * layout.bits / 8), at % row, layout.bits));
  }
}

// The place of every scale among the elements.
Granularity granularity(const ReferenceContext& context, const Layout& layout, const Dims& dims) {
  const auto axis = static_cast<size_t>(layout.quantize_axis);
  const int64_t block = layout.block_size == 0 ? std::max<int64_t>(1, dims[axis]) : layout.block_size;
  const Dims& scales = context.dims(kScales);
  for (size_t i = 0; i < std::min(dims.size(), scales.size()); ++i) {
    if (i != axis && scales[i] == 1 && dims[i] > 1)
      throw unsupported("GatherBlockQuantized with scales {} for data {}", dims_text(scales),
                        dims_text(dims));
  }
  return granularity_of(dims, scales, layout.quantize_axis, block);
}

void reference_gather_block_quantized(ReferenceContext& context) {
  const Tensor& data = context.in(kData);
  const Layout layout(context.node(), context.declared(kData), data.dims().size());
  const Dims dims = layout.unpacked_dims(data.dims());
  const Granularity grain = granularity(context, layout, dims);
  const auto scales = context.reals(kScales);
  const auto points = zero_points(context, layout);
  const auto axis = static_cast<size_t>(layout.gather_axis);
  const int64_t block = product(dims, axis + 1, dims.size()), outer = product(dims, 0, axis);
  const auto indices = context.ints(kIndices);
  std::vector<double> y(static_cast<size_t>(outer * indices.size() * block));
  for (int64_t slice = 0; slice < outer * indices.size(); ++slice) {
    const int64_t given = indices[slice % indices.size()], index = given < 0 ? given + dims[axis] : given;
    if (index < 0 || index >= dims[axis]) continue;
    const int64_t first = (slice / indices.size() * dims[axis] + index) * block;
    const auto out = std::span(y).subspan(static_cast<size_t>(slice * block), static_cast<size_t>(block));
    read_elements(data, layout, dims.back(), first, out);
    for (int64_t i = 0; i < block; ++i) {
      const int64_t row = (first + i) / grain.inners;
      const int64_t scale = row / grain.length * grain.outer_stride +
                            row % grain.length / grain.block * grain.block_stride +
                            (first + i) % grain.inners * grain.inner_stride;
      double& value = out[static_cast<size_t>(i)];
      value = (value - points[static_cast<size_t>(scale)]) * scales[scale];
    }
  }
  context.store(0, y);
}

}  // namespace

void register_gather_block_quantized(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "GatherBlockQuantized",
                .operands = {Role::kData, Role::kIndices, Role::kScale, Role::kZeroPoint},
                .optional_inputs = 1,
                .attributes = {{"bits", "INT"},
                               {"block_size", "INT"},
                               {"gather_axis", "INT"},
                               {"quantize_axis", "INT"}},
                .infer = infer_gather_block_quantized,
                .reference = reference_gather_block_quantized});
}

}  // namespace vernier::ops
