// Ranges of values, by which they are quantised.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "vernier/precision/plan.h"

namespace vernier {

// Of a tensor, by the name of its value.
struct ScaleEntry {
  ElementType type = ElementType::kInt8;
  double scale = 1;
  int64_t zero_point = 0;
};
using Scales = std::map<std::string, ScaleEntry>;

// JSON: {"tensors": {NAME: {"min": -1, "max": 2} or {"scale": 0.1, "zero_point": 3, "type": "u8"}, …}}. A
// range of numbers that are not negative becomes u8 from zero on, any other i8 around zero. Throws bad_input.
Scales parse_scales(const std::string& text);
Scales read_scales(const std::filesystem::path& path);

// int8 weights with a scale for each slice along `axis`, symmetric.
struct QuantisedWeights {
  Tensor values, scales;
};
QuantisedWeights quantise_weights(const Tensor& weights, int64_t axis);

}  // namespace vernier
