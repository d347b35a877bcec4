// A model with the types of a plan, to be written as ONNX.
#pragma once

#include "vernier/passes/quantization/symmetric_codes.h"
#include "vernier/precision/codes_between.h"
#include "vernier/precision/options.h"
#include "vernier/precision/plan.h"

namespace vernier {

struct TypedModel {
  Model model;
  PrecisionPlan plan;  // what was applied, by the nodes of the model as it was
  int64_t opset = 0;   // of ai.onnx; the nodes were converted to it where the model had an older one
  size_t casts = 0, quantized = 0;  // Casts, and QuantizeLinear and DequantizeLinear, that were added
  CodesBetween between;             // with `codes_between`, which no plan tells of
  size_t expanded = 0;  // with `symmetric`, operators on codes that were expressed by operators of floats
  SymmetricCodes symmetric;  // with `symmetric`, what the model itself quantized otherwise
  size_t defaults = 0;       // weights that were listed as inputs, and are constants alone now
};

// The graph of the model, node by node, with the plan that the options make on it: Casts and
// QuantizeLinear/DequantizeLinear where types change, constants rounded once, the opset that the types need.
// Inputs and outputs of the model keep their types. With `symmetric`, what the model itself quantized is
// rewritten before (passes/quantization/symmetric_codes.h). The opset is `least_opset` or newer. Throws what
// make_precision_plan and raise_opset throw.
TypedModel typed_model(const Model& model, const PrecisionOptions& options, int64_t least_opset = 0);

}  // namespace vernier
