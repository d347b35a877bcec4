#include "vernier/engine/sizes/size_evaluation.h"

namespace vernier {

std::optional<int64_t> SizeEvaluation::value(const Dim& dim) {
  if (dim.is_constant()) return dim.constant();
  const auto [found, is_new] = values_.try_emplace(dim.expression());
  if (is_new) found->second = dim.evaluate(symbols_);
  return found->second;
}

std::optional<Tensor> SizeEvaluation::tensor(const std::vector<Dim>& elements, const Tensor& like) {
  std::vector<int64_t> numbers;
  for (const Dim& dim : elements) {
    const auto number = value(dim);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (!is_float(like.type())) return Tensor::from_ints(like.type(), like.dims(), numbers);
  return Tensor::from_doubles(like.type(), like.dims(), std::vector<double>(numbers.begin(), numbers.end()));
}

}  // namespace vernier
