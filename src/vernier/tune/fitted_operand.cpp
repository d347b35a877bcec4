#include "vernier/tune/fitted_operand.h"

#include "vernier/ops/contrib/operands.h"

namespace vernier {

std::optional<Tensor> fitted_operand(const KernelRequest& request, size_t input) {
  using namespace ops::group_query;
  if (request.node.domain != "com.microsoft" || request.node.op != "GroupQueryAttention") return std::nullopt;
  const bool has_length = request.has(kTotal) && request.in(kTotal).constant != nullptr;
  if (!has_length || request.in(kTotal).size() != 1 || (input != kLastKeys && input != kPositions))
    return std::nullopt;
  const Operand& operand = request.in(input);
  std::vector<int64_t> values(static_cast<size_t>(operand.size()));  // of positions any will do
  if (input == kLastKeys)
    std::fill(values.begin(), values.end(), request.in(kTotal).constant->to_ints()[0] - 1);
  return Tensor::from_ints(operand.element, operand.dims, values);
}

}  // namespace vernier
