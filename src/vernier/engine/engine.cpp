#include "vernier/engine/engine.h"

#include "vernier/backends/cpu/environment.h"
#include "vernier/backends/cpu/epilogue.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/pointwise/kernel.h"
#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"
#include "vernier/tune/choose_layout.h"

namespace vernier {

std::vector<Pass> model_pipeline() {
  return {fold_constants(),    remove_identities(),    merge_common_nodes(),
          expand_fused_conv(), lower_einsum(),         fold_batch_norm(),
          recognise_silu(),    recognise_gelu(),       recognise_hard_swish(),
          recognise_softmax(), recognise_layer_norm(), recognise_rms_norm(),
          recognise_l2_norm(), recognise_attention(),  fold_pad(),
          sink_transposes(),   merge_transposes(),     remove_dead_code()};
}

std::vector<Pass> plan_pipeline() {
  return {fold_constants(),
          remove_identities(),
          merge_common_nodes(),
          lower_einsum(),
          recognise_attention(),
          fold_constants(),
          merge_transposes(),
          remove_views(),
          remove_dead_code(),
          fuse_epilogues(cpu::can_follow),
          fuse_pointwise(cpu::is_pointwise),
          remove_dead_code()};
}

std::set<std::string> pass_names() {
  std::set<std::string> names;
  for (const auto& pipeline : {model_pipeline(), plan_pipeline()}) {
    for (const Pass& pass : pipeline) names.insert(pass.name);
  }
  return names;
}

std::string timing_device() {
  return fmt::format("{}; {}; {} threads", cpu::instruction_sets(), cpu::library_versions(),
                     omp_get_max_threads());
}

Engine::Engine(std::unique_ptr<Graph> graph, BuildOptions options)
    : options_(std::move(options)), graph_(std::move(graph)) {
  for (const ShapeProfile& profile : options_.profiles) check_profile(profile, *graph_);
}

Program& Engine::program(int threads) {
  const std::lock_guard lock(mutex_);
  auto& program = programs_[threads];
  if (!program)
    program = std::make_unique<Program>(
        clone(*graph_),
        [this](const Graph& source, const std::vector<ValueType>& inputs) {
          require_profile(options_.profiles, source, inputs);
          const PlanChoices choices{
              prepared_.empty() ? PlanChoices{}.images : prepared_[0].plan->choices.images, {}};
          return plan_of(specialise(source, inputs), choices, packed_);
        },
        kernels_);
  return *program;
}

std::shared_ptr<Engine> Engine::build(const Model& model, const BuildOptions& options) {
  auto graph = clone(*model.graph);
  ops::infer_types(*graph);
  auto passes = run_passes(*graph, model_pipeline(), options.passes);
  return restore(std::move(graph), options, std::move(passes));
}

std::shared_ptr<Engine> Engine::restore(std::unique_ptr<Graph> graph, const BuildOptions& options,
                                        std::vector<PassRecord> passes) {
  std::shared_ptr<Engine> engine(new Engine(std::move(graph), options));
  engine->passes_ = std::move(passes);
  return engine;
}

void Engine::prepare(const std::vector<ValueType>& inputs, const PlanChoices* choices) {
  require_profile(options_.profiles, graph(), inputs);
  auto specialised = specialise(graph(), inputs);
  const PlanChoices chosen = choices != nullptr ? *choices : tune(*specialised);
  keep(inputs, plan_of(std::move(specialised), chosen, packed_));
}

const Plan& Engine::restore_plan(std::unique_ptr<Graph> graph, const std::vector<ValueType>& inputs,
                                 const PlanChoices& choices) {
  keep(inputs, plan_of(std::move(graph), choices, packed_));
  return *prepared_.back().plan;
}

void Engine::keep(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan) {
  const int threads = omp_get_max_threads();
  program(threads).add(inputs, plan);
  prepared_.push_back({inputs, std::move(plan), threads});
}

std::unique_ptr<Graph> Engine::specialise(const Graph& source, const std::vector<ValueType>& inputs) const {
  auto graph = clone(source);
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph->inputs[i]->type = inputs[i];
    graph->inputs[i]->constant.reset();  // a default is given like any other input
  }
  ops::infer_types(*graph);
  run_passes(*graph, plan_pipeline(), options_.passes);
  return graph;
}

std::shared_ptr<const Plan> Engine::plan_of(std::unique_ptr<Graph> graph, const PlanChoices& choices,
                                            PackedConstants& packed, const ChooseTactic& choose) {
  const auto compile_region = [this, images = choices.images](std::unique_ptr<Graph> region) {
    return std::make_shared<Program>(
        std::move(region),
        [this, images](const Graph& inner, const std::vector<ValueType>& types) {
          return plan_of(specialise(inner, types), {images, {}}, packed_);
        },
        kernels_);
  };
  return std::make_shared<const Plan>(
      make_plan(std::move(graph), kernels_, compile_region, packed, choices, choose));
}

PlanChoices Engine::tune(const Graph& specialised) {
  if (options_.tune.level == 0) return {};
  const auto cache =
      options_.timing_cache ? options_.timing_cache : std::make_shared<TimingCache>(timing_device());
  const auto reference = [](const Model& model, const std::vector<Tensor>& inputs) {
    NamedData data;
    for (size_t i = 0; i < inputs.size(); ++i) data[model.graph->inputs[i]->name] = inputs[i];
    std::vector<Tensor> outputs;
    for (Datum& output : run_reference(model, data).outputs) outputs.push_back(std::move(output.tensor));
    return outputs;
  };
  Tuner tuner(kernels_, reference, *cache, options_.tune);
  const auto make = [&](Layout images) {
    PackedConstants packed;  // what is tried is not kept
    return plan_of(clone(specialised), {images, {}}, packed,
                   [&](const KernelRequest& request) { return tuner.choose(request); });
  };
  auto chosen = choose_layout(make, kernels_, *cache, options_.tune)->choices;
  tuning_.insert(tuning_.end(), tuner.results().begin(), tuner.results().end());
  return chosen;
}

}  // namespace vernier
