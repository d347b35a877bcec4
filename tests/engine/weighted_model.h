// Models whose weights are drawn.
#pragma once

#include "passes/rewriting.h"

namespace vernier {

inline Tensor noise(Dims dims, uint64_t seed, double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = normal(random);
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

// The inputs whose names begin with w become weights.
inline Model with_weights(const std::string& text) {
  Model model = parse_graph(text);
  uint64_t seed = 0;
  for (Value* input : model.graph->inputs) {
    if (input->name.starts_with("w"))
      input->constant = noise(*to_dims(*input->type.tensor.shape), ++seed, 0.05);
  }
  return model;
}

}  // namespace vernier
