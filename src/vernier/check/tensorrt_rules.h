// The rules for TensorRT, by file. Internal to the room.
#pragma once

#include "vernier/check/context.h"

namespace vernier {

void tensorrt_scale_rules(std::vector<Rule>& rules);      // scales and zero points
void tensorrt_placement_rules(std::vector<Rule>& rules);  // where QuantizeLinear and DequantizeLinear stand
void tensorrt_type_rules(std::vector<Rule>& rules);
void tensorrt_operator_rules(std::vector<Rule>& rules);

bool makes_codes(const Node& node);  // QuantizeLinear of ai.onnx
bool reads_codes(const Node& node);  // DequantizeLinear of ai.onnx
// The value of codes: what QuantizeLinear makes, or DequantizeLinear reads.
const Value* codes_of(const Node& node);

// A finding of a rule that TensorRT's parser or builder enforces.
Finding broken(const char* rule, const Node& node, std::string message, std::string remedy);

}  // namespace vernier
