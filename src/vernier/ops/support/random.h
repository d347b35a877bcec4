// Random numbers for the operators that draw. They are those of numpy's RandomState, so a seeded model draws
// what ONNX's own reference draws.
#pragma once

#include <optional>
#include <random>

#include "vernier/ir/graph.h"

namespace vernier::ops {

class RandomSource {
 public:
  // Seeded by the node's attribute `seed`; without it by the node's name, so that every run draws the same.
  explicit RandomSource(const Node& node);

  double uniform();  // in [0, 1)
  double normal();   // mean 0, standard deviation 1

 private:
  std::mt19937 engine_;
  std::optional<double> spare_;  // normals are drawn in pairs
};

}  // namespace vernier::ops
