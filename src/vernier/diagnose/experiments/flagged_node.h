#pragma once

#include "vernier/error_analysis/deviation.h"
#include "vernier/ir/graph.h"

namespace vernier {

// A node, or a group that an engine computes as one, whose results are not what it should have made of what
// it read.
struct FlaggedNode {
  const Node* node = nullptr;
  // As the engine saw them, row-major, in their declared types; undefined where one is left out.
  std::vector<Tensor> inputs;
  // Holds what a sound kernel makes of these, with the error that each element may have. Undefined values
  // where the engine does not show an output, or the node has none.
  std::vector<ElementErrors> expected;
  std::vector<Tensor> made;   // by the engine; undefined likewise
  NumericsContract contract;  // of the kernel, stated or assumed
  Deviation worst;            // in bounds of the error that the element may have
  size_t output = 0;          // where that is

  // Names of the ONNX nodes behind it.
  std::vector<std::string> onnx_nodes() const;
};

// Compares what the engine made of an output with what is expected, and keeps that if it is the worst so far.
void compare_output(FlaggedNode& flagged, size_t output);

// The ONNX nodes behind a node, those of a group in execution order, or its own name.
std::vector<std::string> onnx_nodes_of(const Node& node);

}  // namespace vernier
