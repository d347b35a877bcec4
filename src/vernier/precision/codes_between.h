// int8 as ONNX Runtime's kernels compute it: codes all the way from one contraction to the next.
#pragma once

#include "vernier/precision/calibration.h"

namespace vernier {

struct CodesBetween {
  size_t values = 0;              // that everybody reads as codes now
  std::set<std::string> unknown;  // values that would be among them if they had a range
};

// ONNX Runtime computes a node on codes only where all that it reads comes from DequantizeLinear, and all
// that it makes goes to QuantizeLinear. One reader of floats beside it, the Add around a residual block say,
// and a Conv is computed in floats, slower than without any codes. So in a graph whose contractions read
// codes, what lies between them is quantized for all who read it: what operators with kernels on codes read,
// and what a Conv makes. Operators that only move elements keep the scale of what they read. A Relu or Clip
// that codes imply stays before them, where ONNX Runtime drops it.
CodesBetween keep_codes_between(Graph& graph, const Scales& scales, int64_t opset);

}  // namespace vernier
