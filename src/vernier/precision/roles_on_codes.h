// Lists the operators on codes that ONNX Runtime has.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

enum class Role : uint8_t {
  kNone,
  kMultiplies,  // a contraction of codes
  kCarries,     // gives codes on as they are
  kComputes,    // has a kernel from codes to codes
  kBounds,      // codes may imply it
};

// Types are inferred, and what a contraction multiplies as codes comes from DequantizeLinear.
Role role_of(const Node& node);

// The values that a node of such a role reads, each as it was before it became codes.
std::vector<Value*> data_inputs(const Node& node, Role role);

// The least and the greatest of what a Relu or Clip makes. A bound that is not known is none that codes
// imply.
std::pair<double, double> bounds_of(const Node& node);

}  // namespace vernier
