// Passes ask these about QuantizeLinear and DequantizeLinear.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// The parameters of a QuantizeLinear or DequantizeLinear of ai.onnx between FLOAT and an integer type.
struct Quantization {
  ElementType type = ElementType::kUndefined;  // of the integers
  std::vector<double> scales, zero_points;     // as many
  int64_t axis = 1;                            // of the scales, if there are several

  // Nothing for other nodes, parameters that are not known, and scales of blocks.
  static std::optional<Quantization> of(const Node* node);

  bool is_uniform() const { return scales.size() == 1; }
  bool is_8bit() const { return type == ElementType::kInt8 || type == ElementType::kUint8; }
  // Whether the integers lie around 0, those of UINT8 around 128.
  bool is_symmetric() const;
  bool operator==(const Quantization& other) const;
};

bool is_quantize(const Node* node);
bool is_dequantize(const Node* node);
// How many of the node's first inputs are dequantized tensors whose elements it moves; 0: it does more.
size_t moved_inputs(const Node& node);

}  // namespace vernier
