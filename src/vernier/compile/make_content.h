// Makes what an engine holds for all sizes of its model: the graph after the passes, typed by a precision
// plan.
#pragma once

#include "vernier/engine/planner.h"
#include "vernier/precision/asked/asked_types.h"

namespace vernier {

// The options with `best` taken for what this machine computes fast.
PrecisionOptions resolved_precision(PrecisionOptions options);

// The graph of the model is given twice: as it is, and to be worked on. Throws usage_error where INT8 is
// asked for without ranges, and what inference and passes throw.
EngineContent make_content(std::unique_ptr<Graph> graph, const Graph& model, const BuildOptions& options);

// The rewrites of a model before types are chosen, which is what precision plans are made for.
std::vector<PassRecord> rewrite_for_types(Graph& graph, const AskedTypes& asked, const PassOptions& options);

}  // namespace vernier
