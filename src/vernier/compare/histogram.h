// How errors spread: counts of |error| by decade.
#pragma once

#include <array>
#include <cstdint>

namespace vernier {

struct ErrorHistogram {
  static constexpr int kFirstDecade = -16, kLastDecade = 8;
  static constexpr int kDecades = kLastDecade - kFirstDecade + 1;

  int64_t exact = 0;       // no error at all
  int64_t not_finite = 0;  // NaN or Inf on one side only, or the wrong Inf
  // Element i counts errors in [10^d, 10^(d+1)) with d = kFirstDecade + i; the ends take what lies beyond
  // them.
  std::array<int64_t, kDecades> decades{};

  void add(double error);  // > 0
  void merge(const ErrorHistogram& other);
};

}  // namespace vernier
