// Walks over a strided array for reductions: an outer index over the axes that stay, an inner one over those
// that go.
#pragma once

#include <cstdint>
#include <vector>

namespace vernier::ops {

class StridedReduction {
 public:
  struct Axis {
    int64_t size, stride;
  };

  // Axes are added from the outermost to the innermost.
  void keep(int64_t size, int64_t stride) { append(kept_, size, stride); }
  void reduce(int64_t size, int64_t stride) { append(reduced_, size, stride); }

  // Number of results.
  int64_t results() const { return count(kept_); }
  // Number of elements behind each of them.
  int64_t elements() const { return count(reduced_); }

  // Position of the first element of a result.
  int64_t start(int64_t result) const {
    int64_t at = 0;
    for (size_t i = kept_.size(); i-- > 0; result /= kept_[i].size)
      at += result % kept_[i].size * kept_[i].stride;
    return at;
  }

  // Calls visit(position) for every element of the result that starts at `start`.
  template <class Visit>
  void for_each(int64_t start, const Visit& visit) const {
    if (reduced_.empty())
      visit(start);
    else
      walk(0, start, visit);
  }

 private:
  static void append(std::vector<Axis>& axes, int64_t size, int64_t stride) {
    if (size == 1) return;
    // Neighbours that lie behind each other in memory are one axis.
    if (!axes.empty() && axes.back().stride == size * stride)
      axes.back() = {axes.back().size * size, stride};
    else
      axes.push_back({size, stride});
  }

  static int64_t count(const std::vector<Axis>& axes) {
    int64_t product = 1;
    for (const Axis& axis : axes) product *= axis.size;
    return product;
  }

  template <class Visit>
  void walk(size_t level, int64_t at, const Visit& visit) const {
    const Axis axis = reduced_[level];
    if (level + 1 == reduced_.size()) {
      for (int64_t i = 0; i < axis.size; ++i) visit(at + i * axis.stride);
    } else {
      for (int64_t i = 0; i < axis.size; ++i) walk(level + 1, at + i * axis.stride, visit);
    }
  }

  std::vector<Axis> kept_, reduced_;
};

}  // namespace vernier::ops
