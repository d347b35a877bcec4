#include "vernier/passes/recognition/reduction_match.h"

#include "vernier/ops/support/math/reduce_axes.h"

namespace vernier {

std::optional<std::vector<int64_t>> reduced_axes_of(const Node& reduction) {
  const int64_t rank = rank_of(reduction.input(0));
  if (rank < 0) return std::nullopt;
  std::vector<int64_t> given;
  if (!ops::axes_are_input(reduction)) {
    given = reduction.attribute<std::vector<int64_t>>("axes", {});
  } else if (reduction.input(1) != nullptr) {
    if (!reduction.input(1)->is_constant()) return std::nullopt;
    given = reduction.input(1)->constant->to_ints();
  }
  const auto reduced = ops::reduced_axes(reduction, given, static_cast<size_t>(rank));
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (reduced[static_cast<size_t>(i)]) axes.push_back(i);
  }
  return axes;
}

}  // namespace vernier
