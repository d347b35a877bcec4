#include "vernier/engine/engine.h"

#include "vernier/backends/cpu/cpu_kernels.h"
#include "vernier/backends/cpu/epilogue.h"
#include "vernier/backends/cpu/pointwise/kernel.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

// Puts products of integers into groups, while weights still are integers.
std::vector<Pass> integer_pipeline() {
  if (!cpu::sums_bytes_exactly()) return {};
  return {fold_constants(true), remove_identities(), sink_dequantize(), fold_constants(true),
          split_dequantize(),   absorb_qdq(),        remove_dead_code()};
}

// What holds for all sizes, once for a model.
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
          fold_pad(),
          sink_transposes(),
          merge_transposes(),
          remove_dead_code()};
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
          split_dequantize(),
          fuse_pointwise(cpu::is_pointwise),
          remove_dead_code()};
}

}  // namespace

std::shared_ptr<Engine> Engine::build(const Model& model, const BuildOptions& options) {
  std::shared_ptr<Engine> engine(new Engine(options));
  auto graph = clone(*model.graph);
  ops::infer_types(*graph);
  engine->passes_ = run_passes(*graph, integer_pipeline(), options.passes);
  const auto records = run_passes(*graph, model_pipeline(), options.passes);
  engine->passes_.insert(engine->passes_.end(), records.begin(), records.end());
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
  return std::make_shared<const Plan>(make_plan(std::move(graph), kernels_, compile_region));
}

}  // namespace vernier
