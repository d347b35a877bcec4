// The permutation of Transpose.
#pragma once

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// Axis i of the output is axis perm[i] of the input; without the attribute the order is reversed. Throws
// bad_input for what is no permutation of `rank` axes.
inline std::vector<size_t> permutation_of(const Node& node, size_t rank) {
  std::vector<size_t> perm(rank);
  if (node.find_attribute("perm") == nullptr) {
    for (size_t i = 0; i < rank; ++i) perm[i] = rank - 1 - i;
    return perm;
  }
  const auto given = node.attribute<std::vector<int64_t>>("perm", {});
  if (given.size() != rank) throw bad_input("perm {} does not fit rank {}", dims_text(given), rank);
  std::vector<bool> taken(rank, false);
  for (size_t i = 0; i < rank; ++i) {
    perm[i] = static_cast<size_t>(normalize_axis(given[i], static_cast<int64_t>(rank)));
    if (taken[perm[i]]) throw bad_input("perm {} names an axis twice", dims_text(given));
    taken[perm[i]] = true;
  }
  return perm;
}

template <class T>
std::vector<T> permuted(const std::vector<T>& values, const std::vector<size_t>& perm) {
  std::vector<T> result;
  for (const size_t axis : perm) result.push_back(values[axis]);
  return result;
}

// True if only axes of size 1 change places among the others, so that no element moves.
inline bool keeps_order(const Dims& dims, const std::vector<size_t>& perm) {
  std::vector<size_t> wide;
  for (const size_t axis : perm) {
    if (dims[axis] != 1) wide.push_back(axis);
  }
  return std::is_sorted(wide.begin(), wide.end());
}

}  // namespace vernier::ops
