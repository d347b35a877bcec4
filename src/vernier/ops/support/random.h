// Random numbers that depend on a seed and an index alone, so they are the same in every run and for every
// thread count.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : seed_(seed) {}
  // Seeded by the node's attribute `seed`; without it, by the node's name.
  static RandomSource of(const Node& node);

  double uniform(int64_t index) const;  // in [0, 1)
  double normal(int64_t index) const;   // mean 0, standard deviation 1

 private:
  uint64_t bits(uint64_t index) const;
  uint64_t seed_;
};

}  // namespace vernier::ops
