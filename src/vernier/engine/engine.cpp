#include "vernier/engine/engine.h"

#include "vernier/backends/cpu/epilogue.h"
#include "vernier/backends/cpu/pointwise/kernel.h"
#include "vernier/engine/audit.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"
#include "vernier/precision/apply.h"
#include "vernier/precision/rules.h"

namespace vernier {

namespace {

// What holds for all sizes, once for a model: what simplifies it, before types are chosen.
std::vector<Pass> model_pipeline() {
  return {fold_constants(),
          remove_identities(),
          merge_common_nodes(),
          fold_batch_norm(),
          recognise_silu(),
          recognise_gelu(),
          recognise_hard_swish(),
          recognise_softmax(),
          recognise_layer_norm(),
          recognise_rms_norm(),
          recognise_l2_norm(),
          recognise_attention(),
          fold_pad()};
}

// What follows, on the typed graph.
std::vector<Pass> typed_pipeline() {
  return {sink_transposes(), merge_transposes(), remove_dead_code()};
}

// What needs the sizes, once for each plan.
std::vector<Pass> plan_pipeline() {
  return {fold_constants(),
          remove_identities(),
          merge_common_nodes(),
          recognise_attention(),
          fold_constants(),
          merge_transposes(),
          remove_views(),
          remove_dead_code(),
          fuse_epilogues(cpu::can_follow),
          fuse_pointwise(cpu::is_pointwise),
          remove_dead_code()};
}

// `best` is what this machine computes fast.
PrecisionOptions resolved(PrecisionOptions options) {
  if (!options.best) return options;
  options.bf16 = options.bf16 || (!options.fp16 && cpu::computes_bf16());
  options.int8 = options.int8 || !options.calibration.empty();
  return options;
}

bool is_quantised(const Graph& graph) {
  bool found = false;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) found = found || node->op == "DequantizeLinear";
  });
  return found;
}

}  // namespace

std::shared_ptr<Engine> Engine::build(const Model& model, const BuildOptions& options) {
  std::shared_ptr<Engine> engine(new Engine(options));
  auto graph = clone(*model.graph);
  ops::infer_types(*graph);
  engine->nodes_ = onnx_nodes(*graph);
  const auto run = [&](const std::vector<Pass>& passes) {
    for (PassRecord& record : run_passes(*graph, passes, options.passes))
      engine->passes_.push_back(std::move(record));
  };
  run(model_pipeline());
  const PrecisionOptions precision = resolved(options.precision);
  if (precision.int8 && precision.calibration.empty() && !is_quantised(*graph))
    throw usage_error("--int8 needs the ranges of values").advise("give them with --calibration scales.json");
  if (precision.changes_types()) {
    engine->precision_ = make_precision_plan(*graph, *model.graph, precision);
    run({apply_precision(engine->precision_)});
  } else {
    engine->precision_ = declared_plan(*graph);
  }
  run(typed_pipeline());
  engine->program_ = std::make_unique<Program>(
      std::move(graph),
      [self = engine.get()](const Graph& source, const std::vector<ValueType>& inputs) {
        return self->compile(source, inputs);
      },
      engine->kernels_);
  return engine;
}

std::shared_ptr<const Plan> Engine::compile(const Graph& source, const std::vector<ValueType>& inputs) {
  auto graph = clone(source);
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph->inputs[i]->type = inputs[i];
    graph->inputs[i]->constant.reset();  // a default is given like any other input
  }
  ops::infer_types(*graph);
  run_passes(*graph, plan_pipeline(), options_.passes);
  const auto compile_region = [this](std::unique_ptr<Graph> region) {
    return std::make_shared<Program>(
        std::move(region),
        [this](const Graph& inner, const std::vector<ValueType>& types) { return compile(inner, types); },
        kernels_);
  };
  auto plan = std::make_shared<const Plan>(make_plan(std::move(graph), kernels_, compile_region));
  if (options_.precision.constraints == PrecisionConstraints::kObey) {
    const PrecisionAudit found = audit(*plan);
    if (found.differences() > 0) throw PrecisionDifference(found);
  }
  return plan;
}

PrecisionAudit Engine::audit(const Plan& plan) const {
  return audit_precision(plan, precision_, nodes_);
}

}  // namespace vernier
