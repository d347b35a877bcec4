// NaN and infinities in kernels that do more with the factors of products than to multiply them.
//
// A factor that is split into terms leaves inf - inf = NaN for its second term, so every sum that it is part
// of may be NaN; so does a finite factor that is too large for the type of its terms. A tile of Winograd's is
// a sum of sums over its whole patch of the image: one special value in the patch may make every output of
// the tile NaN. All else is as the operators say.
#include <cmath>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/ops/operands.h"

namespace vernier {

namespace {

// Whether the operator multiplies this input with others; what it adds is not mixed.
bool is_factor(const Node& node, size_t input) {
  return ops::has_role(node, input, {ops::Role::kData, ops::Role::kWeight, ops::Role::kState});
}

// NaN in place of what a kernel mixes.
Tensor with_marks(const Tensor& tensor, const NumericsContract& contract) {
  const OperandFormat format = contract.terms > 1 ? contract.operands : OperandFormat();
  auto values = tensor.to_doubles();
  for_each_element(values.size(), [&](size_t i) {
    if (!std::isfinite(format.round(values[i]))) values[i] = std::nan("");
  });
  return Tensor::from_doubles(ElementType::kDouble, tensor.dims(), values);
}

// A tile of [N, C, H, W] with a NaN is NaN as a whole. Tiles begin at the first line and column.
Tensor with_whole_tiles(const Tensor& images, int64_t tile) {
  const Dims& dims = images.dims();
  const int64_t columns = dims.back(), lines = dims[dims.size() - 2];
  const auto from = images.to_doubles();
  auto to = from;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!std::isnan(from[i])) continue;
    const auto at = static_cast<int64_t>(i);
    const int64_t column = at % columns / tile * tile, line = at / columns % lines / tile * tile,
                  image = at / (lines * columns);
    for (int64_t y = line; y < std::min(lines, line + tile); ++y) {
      for (int64_t x = column; x < std::min(columns, column + tile); ++x)
        to[static_cast<size_t>((image * lines + y) * columns + x)] = std::nan("");
    }
  }
  return Tensor::from_doubles(ElementType::kDouble, dims, to);
}

}  // namespace

bool mixes_special_values(const NumericsContract& contract) {
  return contract.winograd > 0 || contract.terms > 1;
}

std::vector<Tensor> evaluate_mixed(const Node& node, const std::vector<const Tensor*>& operands,
                                   const NumericsContract& contract) {
  const uint32_t traits = ops::OpRegistry::instance().require(node).traits;
  if (!mixes_special_values(contract) || (traits & ops::kContraction) == 0)
    return evaluate_unrounded(node, operands);
  std::vector<Tensor> marked(operands.size());
  std::vector<const Tensor*> given = operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr || !is_float(operands[i]->type()) || !is_factor(node, i)) continue;
    marked[i] = with_marks(*operands[i], contract);
    given[i] = &marked[i];
  }
  auto results = evaluate_unrounded(node, given);
  if (contract.winograd > 0 && results.at(0).rank() == 4)
    results[0] = with_whole_tiles(results[0], contract.winograd);
  return results;
}

}  // namespace vernier
