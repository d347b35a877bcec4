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
  bool tf32 = false;   // of f32, whose products may round their factors to TF32
};

struct PrecisionOptions {
  bool bf16 = false, fp16 = false, int8 = false;
  bool int4 = false;     // weights in blocks, of the nodes that the calibration names
  bool best = false;     // whatever this machine computes fast
  bool tf32 = false;     // contractions of f32 may round their factors to TF32
  bool no_tf32 = false;  // none does, whatever else asks for it
  PrecisionConstraints constraints = PrecisionConstraints::kObey;
  std::vector<LayerType> layers;      // computed and stored so; the last that matches counts
  std::vector<LayerType> outputs;     // stored so
  std::filesystem::path plan;         // a plan that was written before; the other options change it
  std::filesystem::path calibration;  // ranges of values for int8
  bool symmetric = false;             // what TensorRT computes: int8 around zero alone, for one
  bool codes_between = false;         // int8 from one contraction to the next, as ONNX Runtime computes it

  // Whether anything may be other than the model declares.
  bool changes_types() const {
    return bf16 || fp16 || int8 || int4 || best || tf32 || !layers.empty() || !outputs.empty() ||
           !plan.empty();
  }
  // Whether a device is needed that has TF32. A plan may be for another, and does not ask.
  bool asks_tf32() const;
};

// This variable of the environment, set to 0, forbids TF32 to all libraries of NVIDIA, and to us.
inline constexpr const char* kTf32Variable = "NVIDIA_TF32_OVERRIDE";
bool environment_forbids_tf32();

bool matches(std::string_view pattern, std::string_view name);

// "node:fp32,/norm/*:bf16", and "node:tf32" for the products of a node of f32. Throws usage_error.
std::vector<LayerType> parse_layer_types(std::string_view text);

// "fp32", "fp16", "bf16" and "int8", as TensorRT writes them, and Vernier's own names. Throws usage_error.
ElementType parse_precision(std::string_view text);

}  // namespace vernier
