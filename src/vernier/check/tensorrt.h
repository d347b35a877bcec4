// These rules check what TensorRT 8 to 11 ask of a network whose types are those of the graph: explicit
// quantization, types, operators. Sources: TensorRT's guide (explicit quantization, strong typing),
// IQuantizeLayer and IDequantizeLayer, and the operator table of its ONNX parser (10.15).
#pragma once

#include "vernier/check/check.h"

namespace vernier {

std::span<const Rule> tensorrt_rules();

// The findings of these rules, errors first. A model without errors and warnings keeps them all.
std::vector<Finding> check_for_tensorrt(const Model& model);

}  // namespace vernier
