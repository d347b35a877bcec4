#include "vernier/engine/sizes/learned_sizes.h"

#include <fmt/format.h>

namespace vernier {

namespace {

class Symbols {
 public:
  Dim of(int64_t first, int64_t second) {
    if (first == second) return Dim(first);
    for (const Known& known : known_) {
      const int64_t apart = first - known.first;
      if (second - known.second == apart) return apart == 0 ? known.symbol : known.symbol + Dim(apart);
    }
    known_.push_back({Dim::symbol(fmt::format("size {}", known_.size())), first, second});
    return known_.back().symbol;
  }

 private:
  struct Known {
    Dim symbol;
    int64_t first, second;
  };
  std::vector<Known> known_;
};

}  // namespace

std::optional<std::vector<ValueType>> learned_types(const std::vector<ValueType>& first,
                                                    const std::vector<ValueType>& second) {
  if (first.size() != second.size()) return std::nullopt;
  Symbols symbols;
  std::vector<ValueType> learned;
  for (size_t i = 0; i < first.size(); ++i) {
    ValueType& type = learned.emplace_back(second[i]);
    if (type == first[i]) continue;
    if (!type.is_tensor() || !first[i].is_tensor() || !type.tensor.shape || !first[i].tensor.shape ||
        type.tensor.element != first[i].tensor.element)
      return std::nullopt;
    const auto before = to_dims(*first[i].tensor.shape), now = to_dims(*type.tensor.shape);
    if (!before || !now || before->size() != now->size()) return std::nullopt;
    for (size_t axis = 0; axis < now->size(); ++axis)
      (*type.tensor.shape)[axis] = symbols.of((*before)[axis], (*now)[axis]);
  }
  return learned;
}

}  // namespace vernier
