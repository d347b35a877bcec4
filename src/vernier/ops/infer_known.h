// Inference of a graph in which not all operators are known, for who looks at the rest of it.
#pragma once

#include "vernier/ops/infer_graph.h"

namespace vernier::ops {

struct PartialInference {
  InferenceReport report;
  std::vector<const Node*> unknown;  // nodes whose operator is not known
};

// As infer_types. What such nodes make is taken for what is declared, which may be nothing, and nothing
// behind them is a fault.
PartialInference infer_known_types(Graph& graph);

}  // namespace vernier::ops
