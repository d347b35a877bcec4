// Convolutions and matrix products of int8 where the processor cannot sum four products of int8 exactly:
// groups of DequantizeLinear, Conv, MatMul or Gemm and QuantizeLinear, QLinearConv, QLinearMatMul and QGemm.
#include "vernier/backends/cpu/depthwise/pair_depthwise.h"
#include "vernier/backends/cpu/epilogue/integer_block_epilogue.h"
#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"
#include "vernier/backends/cpu/int8_gemm/pair_lines.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/backends/cpu/processor.h"

namespace vernier::cpu {

namespace {

// By its name tests have it on every processor.
constexpr const char* kTactic = "int8-pairs";
// Convolutions whose weights let the processor sum two products at once.
constexpr const char* kQuads = "int8-quads";

PairRows rows_of(const KernelRequest& request, size_t input, double zero_point) {
  return {static_cast<int>(input), request.in(input).element == ElementType::kInt8,
          static_cast<int32_t>(zero_point)};
}

std::vector<int32_t> integers(const std::vector<double>& values) {
  std::vector<int32_t> result(values.begin(), values.end());
  const bool zero = std::all_of(result.begin(), result.end(), [](int32_t value) { return value == 0; });
  return zero ? std::vector<int32_t>() : result;
}

// The epilogue of accumulators from whose products the zero points are subtracted already.
std::unique_ptr<const BlockEpilogue> finish_of(QuantizedProduct product, const KernelRequest& request,
                                               int64_t columns, int64_t depth, size_t columns_axis,
                                               std::string& reason) {
  product.a_affine.zero_point = 0;
  auto epilogue = IntegerEpilogue::of(
      product, request, {std::vector<int64_t>(static_cast<size_t>(columns)), depth}, columns_axis, reason);
  return epilogue ? std::make_unique<IntegerBlockEpilogue>(std::move(*epilogue)) : nullptr;
}

NumericsContract contract_of(const KernelRequest& request) {
  return {ElementType::kFloat, ElementType::kInt32, request.out().element, NumericsContract::Order::kBlocked};
}

bool is_served_int8_pairs(const KernelRequest& request, const QuantizedProduct& product) {
  const Operand &a = request.in(product.a), &b = request.in(product.b), &y = request.out();
  return product.a != product.b && a.size() > 0 && b.size() > 0 && y.size() > 0;
}

std::unique_ptr<Kernel> make_convolution(const KernelRequest& request, const QuantizedProduct& product,
                                         std::string& reason) {
  const Operand &x = request.in(product.a), &w = request.in(product.b), &y = request.out();
  reason = "no channels-last image by known weights";
  if (w.constant == nullptr || x.rank() < 3 || x.rank() > 5 || x.layout != Layout::kChannelsLast ||
      y.layout != x.layout)
    return nullptr;
  const auto shape = ops::Convolution::of(*product.anchor, x.dims, w.dims);
  auto order = PairWeights::of_convolution(shape);
  order.zero_points = integers(product.b_zero_points);
  if (request.tactic != kQuads) {
    if (auto kernel = make_pair_depthwise(request, product, shape, reason)) return kernel;
  }
  auto finish = finish_of(product, request, order.groups * order.columns, order.depth(), 1, reason);
  if (!finish) return nullptr;
  const PairRows rows = rows_of(request, product.a, product.a_affine.zero_point);
  const auto windows = PairWindows::of_convolution(shape);
  if (request.tactic == kQuads) {
    reason = "windows that are not read from lines of the image";
    if (!order.in_lines) return nullptr;
    auto kernel = make_quad_lines(request, *w.constant, rows, windows, order, std::move(finish), reason);
    if (kernel) kernel->contract = contract_of(request);
    return kernel;
  }
  return make_pair_contraction(rows, windows, order, pack_pair_weights(request, *w.constant, order),
                               std::move(finish), contract_of(request));
}

std::unique_ptr<Kernel> make_matrices(const KernelRequest& request, const QuantizedProduct& product,
                                      std::string& reason) {
  const Operand &a = request.in(product.a), &b = request.in(product.b), &y = request.out();
  const size_t columns_axis = y.dims.size() - 1;
  reason = "no rows by a matrix, or matrices with one zero point";
  if (b.rank() < 2 || a.rank() < 1) return nullptr;
  const Product shape = product_of(*product.anchor, a, b, y);
  if (shape.transpose_a) return nullptr;
  const int64_t columns = shape.y.back(), depth = shape.a.back();
  const PairRows rows = rows_of(request, product.a, product.a_affine.zero_point);
  if (b.constant != nullptr && b.rank() == 2) {
    auto order = PairWeights::of_matrix(depth, columns, shape.transpose_b);
    order.zero_points = integers(product.b_zero_points);
    auto finish = finish_of(product, request, columns, depth, columns_axis, reason);
    if (!finish) return nullptr;
    return make_pair_contraction(rows, PairWindows::of_matrix(element_count(shape.a) / depth, depth), order,
                                 pack_pair_weights(request, *b.constant, order), std::move(finish),
                                 contract_of(request));
  }
  if (product.b_zero_points.size() > 1 || (b.rank() > 2 && product.b_scales.size() > 1)) return nullptr;
  auto finish = finish_of(product, request, columns, depth, columns_axis, reason);
  if (!finish) return nullptr;
  const double b_zero = product.b_zero_points.empty() ? 0 : product.b_zero_points[0];
  return make_pair_batches({Matrices(shape), rows, rows_of(request, product.b, b_zero), shape.transpose_b},
                           std::move(finish), contract_of(request));
}

std::unique_ptr<Kernel> make_int8_pairs(const KernelRequest& request, std::string& reason) {
  reason = fmt::format("the tactic '{}' does not apply", request.tactic);
  const bool is_named = request.tactic == kTactic || request.tactic == kQuads;
  if (!is_named && (!request.tactic.empty() || accumulates_int8_exactly())) return nullptr;
  const auto product = parse_quantized(request, reason);
  if (!product) return nullptr;
  reason = "no products of int8";
  if (!is_served_int8_pairs(request, *product)) return nullptr;
  if (product->anchor->op.ends_with("Conv")) return make_convolution(request, *product, reason);
  reason = "no convolution";
  return request.tactic == kQuads ? nullptr : make_matrices(request, *product, reason);
}

// Where pairs are the only other way. What weights it does not suit is found out when it is made.
std::vector<std::string> tactics_int8_pairs(const KernelRequest& request) {
  std::string reason;
  if (accumulates_int8_exactly()) return {};
  const auto product = parse_quantized(request, reason);
  const bool is_window = product && is_served_int8_pairs(request, *product) &&
                         product->anchor->op.ends_with("Conv") &&
                         request.in(product->b).constant != nullptr && request.in(product->a).rank() >= 3;
  if (!is_window) return {};
  const auto shape =
      ops::Convolution::of(*product->anchor, request.in(product->a).dims, request.in(product->b).dims);
  return suits_lines(PairWindows::of_convolution(shape)) ? std::vector<std::string>{kQuads}
                                                         : std::vector<std::string>();
}

// They are the only way where they are one.
std::vector<std::string> no_tactics(const KernelRequest& /*request*/) {
  return {};
}

}  // namespace

void register_int8_pairs(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qconv", LayoutRule::kImage, Priority::kInt16Pairs, make_int8_pairs,
                tactics_int8_pairs});
  for (const char* domain : {"", "com.microsoft"})
    registry.add({domain, "QLinearConv", LayoutRule::kImage, Priority::kInt16Pairs, make_int8_pairs,
                  tactics_int8_pairs});
  registry.add(
      {"vernier", "Group/qmatmul", LayoutRule::kPlain, Priority::kInt16Pairs, make_int8_pairs, no_tactics});
  registry.add({"", "QLinearMatMul", LayoutRule::kPlain, Priority::kInt16Pairs, make_int8_pairs, no_tactics});
  registry.add(
      {"com.microsoft", "QGemm", LayoutRule::kPlain, Priority::kInt16Pairs, make_int8_pairs, no_tactics});
}

}  // namespace vernier::cpu
