// Ranges of values, by which they are quantized.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "vernier/precision/plan.h"

namespace vernier {

// Scales a tensor, by the name of its value: q = saturate(round(x / scale) + zero_point).
struct ScaleEntry {
  ElementType type = ElementType::kInt8;  // i8, u8 or f8e4m3fn
  double scale = 1;
  int64_t zero_point = 0;

  bool operator==(const ScaleEntry&) const = default;
};
using Scales = std::map<std::string, ScaleEntry>;

// The largest value of f8e4m3fn, which the largest magnitude of a tensor becomes.
inline constexpr double kFloat8Max = 448;

// For values in [low, high], to which zero is added. A range that holds no negative number becomes u8 from
// zero on, any other i8 around zero. Throws bad_input for what is no range of numbers.
ScaleEntry scale_of_range(double low, double high);
// u8 with the zero point that [low, high], zero added, needs.
ScaleEntry asymmetric_scale_of_range(double low, double high);
// f8e4m3fn.
ScaleEntry float8_scale_of_range(double low, double high);

// Holds what a calibration file says.
struct Ranges {
  Scales scales;
  // ONNX nodes whose weights become i4, and how many elements of what is summed share a scale.
  std::map<std::string, int64_t> weight_blocks = {};
  std::string model;  // structural hash of the model that they were made for; empty: any
  // Whether names that are no values of the model are to be expected: TensorRT's caches name constants and
  // tensors of its own, too.
  bool names_others = false;
};

// JSON: {"tensors": {NAME: {"min": -1, "max": 2} or {"scale": 0.1, "zero_point": 3, "type": "u8"}, …}},
// without "tensors" where every member is such an object or a range [min, max]. Of min and scale, scale
// counts; other members are not looked at. "weights": {NODE: {"type": "i4", "block": 32}, …} beside
// "tensors". Throws bad_input that names tensor, or node, and field.
Ranges parse_ranges(std::string_view text);
Scales parse_scales(std::string_view text);

// i8 around zero that reaches as far as the codes of the entry do.
ScaleEntry symmetric(const ScaleEntry& entry);

}  // namespace vernier
