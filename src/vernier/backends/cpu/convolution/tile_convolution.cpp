// Conv of channels-last floats or bfloat16 by constant weights on tiles of bfloat16, or in registers.
#include "vernier/backends/cpu/convolution/constant_convolution.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"

namespace vernier::cpu {

namespace {

// Nothing but for one group.
std::optional<ConstantConvolution> convolution_of(const Fused& fused, const KernelRequest& request) {
  auto convolution = constant_convolution(fused, request);
  return convolution && convolution->shape.groups == 1 ? convolution : std::nullopt;
}

std::optional<TileWindows> windows_of(const ConstantConvolution& convolution) {
  return convolution.element == ElementType::kBFloat16 ? TileWindows::of(convolution.shape) : std::nullopt;
}

std::vector<std::string> tactics_tile_convolution(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  const auto convolution = fused ? convolution_of(*fused, request) : std::nullopt;
  if (!convolution) return {};
  if (!has_bf16_tiles())
    return vector_work(*convolution) ? std::vector<std::string>{kVectorProducts} : std::vector<std::string>();
  const ops::Convolution& shape = convolution->shape;
  const auto windows = windows_of(*convolution);
  return tile_tactics(
      convolution->element, request.out().size() / shape.out_channels,
      windows ? order_of_matrix(windows->depth(), shape.out_channels, true) : order_of(shape));
}

std::unique_ptr<Kernel> make_tile_convolution(const KernelRequest& request, std::string& reason) {
  const auto fused = parse_fused(request, reason);
  const auto convolution = fused ? convolution_of(*fused, request) : std::nullopt;
  const auto format = convolution ? tile_format(request, convolution->element) : std::nullopt;
  if (convolution && request.tactic == kVectorProducts) {
    if (const auto work = vector_work(*convolution))
      return make_vector_contraction(request, *fused, *work, 1, reason);
  }
  if (!format) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  const Operand& w = request.in(static_cast<size_t>(convolution->weights));
  const double flops = ops::convolution_flops(w.dims, request.out().dims);
  const ops::Convolution& shape = convolution->shape;
  if (const auto windows = windows_of(*convolution))
    return make_tile_contraction(
        request, *fused,
        {TileImage::of_windows(shape, *windows), order_of_matrix(windows->depth(), shape.out_channels, true),
         convolution->input, convolution->weights, convolution->bias, flops,
         windows->rearranged(*w.constant)},
        1, reason);
  return make_tile_contraction(request, *fused,
                               {TileImage::of_convolution(shape, *format), order_of(shape),
                                convolution->input, convolution->weights, convolution->bias, flops},
                               1, reason);
}

}  // namespace

void register_tile_convolution(KernelRegistry& registry) {
  registry.add(
      {"", "Conv", LayoutRule::kImage, Priority::kBlocks, make_tile_convolution, tactics_tile_convolution});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, Priority::kBlocks, make_tile_convolution,
                tactics_tile_convolution});
}

}  // namespace vernier::cpu
