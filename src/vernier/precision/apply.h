#pragma once

#include "vernier/passes/pass.h"
#include "vernier/precision/plan.h"

namespace vernier {

struct TypingOptions {
  int64_t opset = 13;  // of ai.onnx, in which the nodes that are added are written
  // The graph is to be written as ONNX. Where ONNX gives an operator no kernel for a narrow type in this
  // opset, the node computes floats on rounded operands, and what it makes is rounded: the same numbers.
  // Zero points are written out, and Constant nodes are constants.
  bool for_onnx = false;
};

// "apply-precision": gives every f32 node the types that the plan says, with Casts, and with QuantizeLinear
// and DequantizeLinear around what int8 reads. Inputs and outputs of the graph, and what regions read from
// around them, keep their types. The result means, Cast by Cast, what an engine by this plan computes.
Pass apply_precision(PrecisionPlan plan, TypingOptions options = {});

// Gives the name that apply_precision derives that of a narrow value from: "a" of "a/f16", a FLOAT16. Empty
// for other names.
std::string_view name_before_narrowing(std::string_view name, ElementType type);

// FLOAT16 or BFLOAT16 if apply_precision makes the node compute in it, else FLOAT.
ElementType narrow_type(const Node& node, const PrecisionPlan& plan);

}  // namespace vernier
