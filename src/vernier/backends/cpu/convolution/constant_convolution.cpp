#include "vernier/backends/cpu/convolution/constant_convolution.h"

#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

std::optional<ConstantConvolution> constant_convolution(const Fused& fused, const KernelRequest& request) {
  const auto operand = [&](int input) -> const Operand& { return request.in(static_cast<size_t>(input)); };
  const int input = fused.inputs[0], weights = fused.inputs[1],
            bias = fused.inputs.size() > 2 ? fused.inputs[2] : -1;
  const Operand &x = operand(input), &w = operand(weights), &y = request.out();
  const bool is_image = x.layout == Layout::kChannelsLast && y.layout == x.layout && x.rank() >= 3 &&
                        x.rank() <= 4 && y.size() > 0;
  const bool is_known =
      w.constant != nullptr && w.size() > 0 && (bias < 0 || operand(bias).constant != nullptr);
  if (!is_image || !is_known || input == weights || !is_float_storage(x.element) || w.element != x.element ||
      y.element != x.element)
    return std::nullopt;
  return ConstantConvolution{ops::Convolution::of(*fused.anchor, x.dims, w.dims), x.element, input, weights,
                             bias};
}

}  // namespace vernier::cpu
