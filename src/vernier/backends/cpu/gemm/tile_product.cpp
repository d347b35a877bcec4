// MatMul and Gemm of floats or bfloat16 by a constant matrix on tiles of bfloat16, or in registers.
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/matmul.h"

namespace vernier::cpu {

namespace {

struct Factors {
  ElementType element;
  int64_t rows;
  WeightOrder order;
};

// Nothing but for rows of one type that lie together, by one constant matrix.
std::optional<Factors> factors_of(const Fused& fused, const KernelRequest& request) {
  const Operand &a = request.in(static_cast<size_t>(fused.inputs[0])),
                &b = request.in(static_cast<size_t>(fused.inputs[1]));
  const bool served = a.element == ElementType::kFloat || a.element == ElementType::kBFloat16;
  if (!served || b.element != a.element || request.out().element != a.element || b.constant == nullptr ||
      b.rank() != 2 || a.size() == 0 || b.size() == 0 || fused.inputs[0] == fused.inputs[1])
    return std::nullopt;
  const Product product = product_of(*fused.anchor, a, b, request.out());
  if (product.transpose_a) return std::nullopt;
  const int64_t depth = product.a[1], columns = b.size() / depth;
  return Factors{a.element, product.a[0], order_of_matrix(depth, columns, product.transpose_b)};
}

VectorWork vector_work(const Fused& fused, const Factors& factors) {
  return {factors.element, factors.rows, factors.order, fused.inputs[0], fused.inputs[1]};
}

std::vector<std::string> tactics_tile_product(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  const auto factors = fused ? factors_of(*fused, request) : std::nullopt;
  if (!factors) return {};
  if (has_bf16_tiles()) return tile_tactics(factors->element, factors->rows, factors->order);
  return fits_vectors(vector_work(*fused, *factors)) ? std::vector<std::string>{kVectorProducts}
                                                     : std::vector<std::string>();
}

std::unique_ptr<Kernel> make_tile_product(const KernelRequest& request, std::string& reason) {
  auto fused = parse_fused(request, reason);
  const auto factors = fused ? factors_of(*fused, request) : std::nullopt;
  const auto format = factors ? tile_format(request, factors->element) : std::nullopt;
  const bool vectors =
      factors && request.tactic == kVectorProducts && fits_vectors(vector_work(*fused, *factors));
  if ((!format && !vectors) || (fused->anchor->op == "Gemm" && !prepend_gemm(*fused))) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  const size_t columns_axis = request.out().dims.size() - 1;
  if (vectors)
    return make_vector_contraction(request, *fused, vector_work(*fused, *factors), columns_axis, reason);
  const WeightOrder& order = factors->order;
  const double flops =
      2.0 * static_cast<double>(factors->rows * order.columns) * static_cast<double>(order.channels);
  return make_tile_contraction(request, *fused,
                               {TileImage::of_matrix(factors->rows, order.channels, order.columns, *format),
                                order, fused->inputs[0], fused->inputs[1], -1, flops},
                               columns_axis, reason);
}

}  // namespace

void register_tile_product(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "Gemm"})
    registry.add({"", op, LayoutRule::kPlain, Priority::kBlocks, make_tile_product, tactics_tile_product});
  registry.add({"vernier", "Group/matmul", LayoutRule::kPlain, Priority::kBlocks, make_tile_product,
                tactics_tile_product});
}

}  // namespace vernier::cpu
