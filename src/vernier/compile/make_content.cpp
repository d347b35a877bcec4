#include "vernier/compile/make_content.h"

#include "vernier/backends/installed/drivers.h"
#include "vernier/compile/pipelines.h"
#include "vernier/engine/file/recorded_options.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/precision/apply.h"
#include "vernier/precision/asked/retype_nodes.h"
#include "vernier/precision/rules.h"

namespace vernier {

namespace {

bool is_quantized(const Graph& graph) {
  bool found = false;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) found = found || node->op == "DequantizeLinear";
  });
  return found;
}

// Chooses types on the graph as it is after the passes of the model, and types it.
void apply(EngineContent& content, const Graph& model, const BuildOptions& build) {
  const PrecisionOptions& options = build.precision;
  if (options.int8 && options.calibration.empty() && !build.planned && !is_quantized(model))
    throw usage_error("--int8 needs the ranges of values").advise("give them with --calibration scales.json");
  if (!options.changes_types() && !build.planned) {
    content.precision = declared_plan(*content.graph);
    content.precision.tf32 = !options.no_tf32;
    return;
  }
  content.precision = build.planned ? *build.planned : make_precision_plan(*content.graph, model, options);
  for (PassRecord& record : run_passes(*content.graph, {apply_precision(content.precision)}, build.passes))
    content.passes.push_back(std::move(record));
}

}  // namespace

PrecisionOptions resolved_precision(PrecisionOptions options) {
  options.no_tf32 = options.no_tf32 || environment_forbids_tf32();
  if (!options.best) return options;
  options.bf16 = options.bf16 || (!options.fp16 && host_driver().computes_bf16());
  options.int8 = options.int8 || !options.calibration.empty();
  return options;
}

std::vector<PassRecord> rewrite_for_types(Graph& graph, const AskedTypes& asked, const PassOptions& options) {
  std::vector<PassRecord> records;
  const auto run = [&](const std::vector<Pass>& passes) {
    for (PassRecord& record : run_passes(graph, passes, options)) records.push_back(std::move(record));
  };
  // Before constants are folded, in the types that they are declared in; and again for what became one node.
  const std::vector<Pass> retyping{retype_nodes(asked, TypingOptions().opset)};
  if (!asked.empty()) run(retyping);
  run(integer_pipeline());
  run(model_pipeline());
  if (!asked.empty()) run(retyping);
  return records;
}

EngineContent make_content(std::unique_ptr<Graph> graph, const Graph& model, const BuildOptions& options) {
  EngineContent content;
  content.graph = std::move(graph);
  content.structure = model_structure(model);
  ops::infer_types(*content.graph);
  content.nodes = onnx_nodes(*content.graph);
  const auto run = [&](const std::vector<Pass>& passes) {
    for (PassRecord& record : run_passes(*content.graph, passes, options.passes))
      content.passes.push_back(std::move(record));
  };
  const AskedTypes asked =
      options.planned ? AskedTypes(*options.planned) : AskedTypes(options.precision, model);
  content.passes = rewrite_for_types(*content.graph, asked, options.passes);
  apply(content, model, options);
  if (options.precision.int8 || content.precision.quantizes()) run(integer_pipeline());
  run(typed_pipeline());
  return content;
}

}  // namespace vernier
