// Holds what the user asks of the precision of an engine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/numeric/element_type.h"

namespace vernier {

// Says what happens where an engine computes in other types than its plan says.
enum class PrecisionConstraints : uint8_t {
  kObey,    // it is not built
  kPrefer,  // it says so
  kNone,    // it may
};

// A type for the ONNX nodes whose names match; * stands for any text, ? for one character.
struct LayerType {
  std::string pattern;
  ElementType type = ElementType::kUndefined;
  bool keeps = false;  // f64 may stay as it is
};

struct PrecisionOptions {
  bool bf16 = false, fp16 = false, int8 = false;
  bool int4 = false;  // weights in blocks, of the nodes that the calibration names
  bool best = false;  // whatever this machine computes fast
  PrecisionConstraints constraints = PrecisionConstraints::kObey;
  std::vector<LayerType> layers;      // computed and stored so; the last that matches counts
  std::vector<LayerType> outputs;     // stored so
  std::filesystem::path plan;         // a plan that was written before; the other options change it
  std::filesystem::path calibration;  // ranges of values for int8
  bool tf32 = true;                   // products of f32 may round their operands to TF32
  bool symmetric = false;             // what TensorRT computes: int8 around zero alone, for one
  bool codes_between = false;         // int8 from one contraction to the next, as ONNX Runtime computes it

  // Whether anything may be other than the model declares.
  bool changes_types() const {
    return bf16 || fp16 || int8 || int4 || best || !layers.empty() || !outputs.empty() || !plan.empty();
  }
};

bool matches(std::string_view pattern, std::string_view name);

// "node:fp32,/norm/*:bf16". Throws usage_error.
std::vector<LayerType> parse_layer_types(std::string_view text);

// "fp32", "fp16", "bf16" and "int8", as TensorRT writes them, and Vernier's own names. Throws usage_error.
ElementType parse_precision(std::string_view text);

}  // namespace vernier
