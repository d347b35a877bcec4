// Convolutions and products of int8 on tiles, or in registers: groups of DequantizeLinear, Conv, MatMul or
// Gemm and QuantizeLinear, QLinearConv, QLinearMatMul and QGemm, by constant signed weights without a zero
// point.
#include "vernier/backends/cpu/epilogue/integer_block_epilogue.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/backends/cpu/onednn/requantization.h"

namespace vernier::cpu {

namespace {

// A contraction as tiles have it.
struct Int8Work {
  QuantizedProduct product;
  std::optional<ops::Convolution> convolution;  // none: a matrix
  std::optional<NarrowImage> narrow;
  int64_t rows;
  WeightOrder order;
};

// Nothing but for known weights that are multiplied with the rows of one matrix, or with an image in one
// group.
std::optional<Int8Work> work_of(const KernelRequest& request, std::string& reason) {
  auto product = parse_quantized(request, reason);
  if (!product) return std::nullopt;
  const Operand &x = request.in(product->a), &w = request.in(product->b), &y = request.out();
  reason = "tiles take known weights of one group";
  if (w.constant == nullptr || x.size() == 0 || y.size() == 0 || product->a == product->b)
    return std::nullopt;
  if (product->anchor->op.ends_with("Conv")) {
    if (x.rank() < 3 || x.rank() > 4 || x.layout != Layout::kChannelsLast || y.layout != x.layout)
      return std::nullopt;
    const auto shape = ops::Convolution::of(*product->anchor, x.dims, w.dims);
    if (shape.groups != 1) return std::nullopt;
    const auto narrow = NarrowImage::of(shape);
    return Int8Work{std::move(*product), shape, narrow, y.size() / shape.out_channels,
                    narrow ? narrow->order() : order_of(shape)};
  }
  if (w.rank() != 2) return std::nullopt;
  const Product matrices = product_of(*product->anchor, x, w, y);
  if (matrices.transpose_a) return std::nullopt;
  const int64_t depth = matrices.a[1];
  return Int8Work{std::move(*product), std::nullopt, std::nullopt, matrices.a[0],
                  order_of_matrix(depth, w.size() / depth, matrices.transpose_b)};
}

TileImage image_of(const Int8Work& work, const TileFormat& format, uint8_t padding) {
  if (work.narrow) return TileImage::of_narrow(*work.convolution, *work.narrow, format, padding);
  if (work.convolution) return TileImage::of_convolution(*work.convolution, format, padding);
  return TileImage::of_matrix(work.rows, work.order.channels, work.order.columns, format);
}

// As rows of a matrix, which the pixels of an image are where a window is one.
std::optional<VectorWork> vector_work(const Int8Work& work, ElementType element) {
  const VectorWork rows{element, work.rows, work.order, static_cast<int>(work.product.a)};
  if (work.narrow || !fits_vectors(rows)) return std::nullopt;
  if (work.convolution && !has_pixels_as_rows(*work.convolution)) return std::nullopt;
  return rows;
}

std::vector<std::string> tactics_int8_tiles(const KernelRequest& request) {
  std::string reason;
  const auto work = work_of(request, reason);
  if (!work) return {};
  const ElementType element = request.in(work->product.a).element;
  if (has_bf16_tiles()) return tile_tactics(element, work->rows, work->order);
  return vector_work(*work, element) ? std::vector<std::string>{kInt8Vectors} : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_int8_tiles(const KernelRequest& request, std::string& reason) {
  const auto work = work_of(request, reason);
  if (!work) return nullptr;
  QuantizedProduct product = work->product;
  const ElementType element = request.in(product.a).element;
  const auto format = tile_format(request, element);
  const auto vectors = request.tactic == kInt8Vectors ? vector_work(*work, element) : std::nullopt;
  reason = fmt::format("the tactic '{}' does not apply", request.tactic);
  const WeightOrder& order = work->order;
  const int64_t depth = order.channels * order.taps;
  if ((!format && !vectors) || depth > kMostBytes) return nullptr;
  const auto weights = signed_weights(*request.in(product.b).constant, product.b_zero_points);
  reason = "tiles multiply by weights without a zero point";
  if (!weights || weights->zero_point != 0) return nullptr;
  // Beyond an image lies what stands for 0.
  const auto padding = static_cast<uint8_t>(static_cast<int32_t>(product.a_affine.zero_point));
  const Tensor arranged = work->narrow ? work->narrow->arrange(weights->content) : weights->content;
  if (vectors && element == ElementType::kInt8) product.a_affine.zero_point += 128;  // as they are taken
  auto epilogue = IntegerEpilogue::of(product, request, {column_sums(arranged, order), depth},
                                      work->convolution ? 1 : request.out().dims.size() - 1, reason);
  if (!epilogue) return nullptr;
  auto finish = std::make_unique<IntegerBlockEpilogue>(std::move(*epilogue));
  const NumericsContract contract{ElementType::kFloat, ElementType::kInt32, request.out().element,
                                  NumericsContract::Order::kBlocked};
  if (vectors)
    return make_vector_kernel(*vectors, pack_vectors(request, arranged, order), std::move(finish), contract);
  const double flops = 2.0 * static_cast<double>(work->rows * order.columns) * static_cast<double>(depth);
  // Weights that are arranged anew are no constant that an engine file keeps.
  return make_tile_kernel(
      {image_of(*work, *format, padding), order, static_cast<int>(product.a), static_cast<int>(product.b), -1,
       flops},
      pack_tiles(work->narrow ? KernelRequest{request.node, {}, {}} : request, arranged, order, *format),
      std::move(finish), contract);
}

}  // namespace

void register_int8_tiles(KernelRegistry& registry) {
  registry.add(
      {"vernier", "Group/qconv", LayoutRule::kImage, Priority::kBlocks, make_int8_tiles, tactics_int8_tiles});
  for (const char* domain : {"", "com.microsoft"})
    registry.add(
        {domain, "QLinearConv", LayoutRule::kImage, Priority::kBlocks, make_int8_tiles, tactics_int8_tiles});
  registry.add({"vernier", "Group/qmatmul", LayoutRule::kPlain, Priority::kBlocks, make_int8_tiles,
                tactics_int8_tiles});
  registry.add(
      {"", "QLinearMatMul", LayoutRule::kPlain, Priority::kBlocks, make_int8_tiles, tactics_int8_tiles});
  registry.add(
      {"com.microsoft", "QGemm", LayoutRule::kPlain, Priority::kBlocks, make_int8_tiles, tactics_int8_tiles});
}

}  // namespace vernier::cpu
