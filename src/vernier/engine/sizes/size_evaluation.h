// Sizes that are expressions, at given values of their symbols.
#pragma once

#include <unordered_map>

#include "vernier/tensor/tensor.h"

namespace vernier {

class SizeEvaluation {
 public:
  explicit SizeEvaluation(SymbolValues symbols) : symbols_(std::move(symbols)) {}

  // Nothing where the symbols do not tell. Equal expressions are one object, and each is evaluated once.
  std::optional<int64_t> value(const Dim& dim);
  // A tensor of these elements, of the type and sizes of `like`. Nothing if one of them is not known.
  std::optional<Tensor> tensor(const std::vector<Dim>& elements, const Tensor& like);

 private:
  SymbolValues symbols_;
  std::unordered_map<const Dim::Expression*, std::optional<int64_t>> values_;
};

}  // namespace vernier
