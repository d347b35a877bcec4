// Conv of channels-last floats by constant weights on tiles of bfloat16.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/tiles/tile_contraction.h"

namespace vernier::cpu {

namespace {

// Nothing but for one group of floats, of one or two axes, channels last.
std::optional<ops::Convolution> convolution_of(const Fused& fused, const KernelRequest& request) {
  const Operand &x = request.in(static_cast<size_t>(fused.inputs[0])),
                &w = request.in(static_cast<size_t>(fused.inputs[1])), &y = request.out();
  if (x.element != ElementType::kFloat || w.element != x.element || y.element != x.element ||
      w.constant == nullptr || fused.inputs[0] == fused.inputs[1] || x.layout != Layout::kChannelsLast ||
      y.layout != x.layout || x.rank() < 3 || x.rank() > 4 || y.size() == 0 || w.size() == 0)
    return std::nullopt;
  auto convolution = ops::Convolution::of(*fused.anchor, x.dims, w.dims);
  return convolution.groups == 1 ? std::optional(std::move(convolution)) : std::nullopt;
}

WeightOrder order_of(const ops::Convolution& convolution) {
  int64_t taps = 1;
  for (const auto& axis : convolution.axes) taps *= axis.kernel;
  return {convolution.out_channels, convolution.in_channels, taps, convolution.in_channels * taps, taps, 1};
}

std::vector<std::string> tactics(const KernelRequest& request) {
  std::string reason;
  const auto fused = parse_fused(request, reason);
  const auto convolution = fused ? convolution_of(*fused, request) : std::nullopt;
  if (!convolution) return {};
  return tile_tactics(request.out().size() / convolution->out_channels, order_of(*convolution));
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const auto pieces = pieces_of(request);
  const auto fused = parse_fused(request, reason);
  const auto convolution = pieces && fused ? convolution_of(*fused, request) : std::nullopt;
  if (!convolution) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  const int bias = fused->inputs.size() > 2 ? fused->inputs[2] : -1;
  if (bias >= 0 && request.in(static_cast<size_t>(bias)).constant == nullptr) {
    reason = "the bias is not known";
    return nullptr;
  }
  const Operand& w = request.in(static_cast<size_t>(fused->inputs[1]));
  return make_tile_contraction(
      request, *fused,
      {TileImage::of_convolution(*convolution, *pieces), order_of(*convolution), fused->inputs[0],
       fused->inputs[1], bias, ops::convolution_flops(w.dims, request.out().dims)},
      1, reason);
}

}  // namespace

void register_tile_convolution(KernelRegistry& registry) {
  registry.add({"", "Conv", LayoutRule::kImage, make, tactics});
  registry.add({"vernier", "Group/conv", LayoutRule::kImage, make, tactics});
}

}  // namespace vernier::cpu
