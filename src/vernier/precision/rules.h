// The rules that make a plan of what the user asks.
#pragma once

#include "vernier/precision/calibration.h"
#include "vernier/precision/options.h"
#include "vernier/precision/plan.h"

namespace vernier {

// Why a plan for TensorRT leaves a ConvTranspose in float.
inline constexpr const char* kNoBrainTransposed = "TensorRT has no ConvTranspose of bf16";

// The types that the graph declares, as a plan.
PrecisionPlan declared_plan(const Graph& graph);

// `graph` is the model as its rewrites left it, with types inferred; nodes are named by provenance. `model`
// is the model before, for its names and its hash. Only f32 is made narrower; what the model declares
// otherwise stays. Throws usage_error for patterns that match no node and for int8 without ranges, bad_input
// for files, for ranges of another model and for those of values that the model does not have.
// `not_int8` are nodes of `graph` that --int8 leaves out, whatever ranges their inputs have.
PrecisionPlan make_precision_plan(const Graph& graph, const Graph& model, const PrecisionOptions& options,
                                  const std::set<std::string>& not_int8 = {});

}  // namespace vernier
