#include "vernier/engine/engine.h"

#include "vernier/backends/cpu/environment.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/engine/audit.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/pipelines.h"
#include "vernier/engine/recorded_options.h"
#include "vernier/engine/tactics.h"
#include "vernier/engine/workspace.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/precision/apply.h"
#include "vernier/precision/rules.h"
#include "vernier/tune/choose_plan.h"

namespace vernier {

namespace {

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

// Chooses types on the graph as it is after the passes of the model, and types it.
void apply(Engine::Content& content, const Model& model, const BuildOptions& build) {
  const PrecisionOptions& options = build.precision;
  if (options.int8 && options.calibration.empty() && !build.planned && !is_quantised(*model.graph))
    throw usage_error("--int8 needs the ranges of values").advise("give them with --calibration scales.json");
  if (!options.changes_types() && !build.planned) {
    content.precision = declared_plan(*content.graph);
    return;
  }
  content.precision =
      build.planned ? *build.planned : make_precision_plan(*content.graph, *model.graph, options);
  for (PassRecord& record : run_passes(*content.graph, {apply_precision(content.precision)}, build.passes))
    content.passes.push_back(std::move(record));
}

}  // namespace

std::string timing_device() {
  return fmt::format("{}; Vernier {}, {}; {} threads", cpu::instruction_sets(), VERNIER_VERSION,
                     cpu::library_versions(), omp_get_max_threads());
}

Engine::Engine(Content content, BuildOptions options)
    : options_(std::move(options)),
      files_(*content.graph),
      content_(std::move(content)),
      kernels_(options_.fault) {
  if (options_.deterministic)
    invariant_ = std::make_unique<ThreadInvariantKernels>(kernels_, omp_get_max_threads);
  for (const ShapeProfile& profile : options_.profiles) check_profile(profile, graph());
}

std::shared_ptr<Engine> Engine::build(const Model& model, const BuildOptions& asked) {
  BuildOptions options = asked;
  options.precision = resolved(options.precision);
  Content content;
  content.graph = clone(*model.graph);
  content.structure = model_structure(*model.graph);
  if (!options.keep_defaults)
    std::erase_if(content.graph->inputs, [](const Value* input) { return input->is_constant(); });
  ops::infer_types(*content.graph);
  content.nodes = onnx_nodes(*content.graph);
  const auto run = [&](const std::vector<Pass>& passes) {
    for (PassRecord& record : run_passes(*content.graph, passes, options.passes))
      content.passes.push_back(std::move(record));
  };
  run(integer_pipeline());
  run(model_pipeline());
  apply(content, model, options);
  if (options.precision.int8) run(integer_pipeline());
  run(typed_pipeline());
  SourceFiles(*model.graph).require_unchanged();  // constants that were folded were read from there
  return restore(std::move(content), options);
}

std::shared_ptr<Engine> Engine::restore(Content content, const BuildOptions& options) {
  return std::shared_ptr<Engine>(new Engine(std::move(content), options));
}

Program& Engine::program(int threads) {
  const std::lock_guard lock(mutex_);
  auto& program = programs_[threads];
  if (!program)
    program = std::make_unique<Program>(
        clone(graph()),
        [this](const Graph& source, const std::vector<ValueType>& inputs) {
          require_profile(options_.profiles, source, inputs);
          auto plan = plan_of(specialise(source, inputs), choices_for(inputs));
          require_workspace(*plan, options_.workspace, options_.profiles);
          return plan;
        },
        kernels());
  return *program;
}

// As it was prepared, perhaps for another number of threads; sizes that come unprepared share the layout.
PlanChoices Engine::choices_for(const std::vector<ValueType>& inputs) const {
  for (const Prepared& prepared : prepared_) {
    if (prepared.inputs == inputs) return prepared.plan->choices;
  }
  return {prepared_.empty() ? PlanChoices{}.images : prepared_[0].plan->choices.images, {}};
}

void Engine::prepare(const std::vector<ValueType>& inputs, const PlanChoices* choices) {
  require_profile(options_.profiles, graph(), inputs);
  auto specialised = specialise(graph(), inputs);
  auto plan = plan_of(clone(*specialised), choices != nullptr ? *choices : tune(*specialised));
  if (choices == nullptr) plan = within_workspace(std::move(plan), *specialised);
  require_workspace(*plan, options_.workspace, options_.profiles);
  keep(inputs, std::move(plan));
}

// Where a plan needs more than is allowed, perhaps one without tactics does not: Winograd's transforms and
// split images take memory of their own.
std::shared_ptr<const Plan> Engine::within_workspace(std::shared_ptr<const Plan> plan,
                                                     const Graph& specialised) {
  if (options_.workspace == 0) return plan;
  for (const Layout images : {plan->choices.images, Layout::kChannelsLast}) {
    if (plan->arena_bytes <= options_.workspace) break;
    auto leaner = plan_of(clone(specialised), {images, {}});
    if (leaner->arena_bytes < plan->arena_bytes) plan = std::move(leaner);
  }
  return plan;
}

const Plan& Engine::restore_plan(std::unique_ptr<Graph> graph, const std::vector<ValueType>& inputs,
                                 const PlanChoices& choices) {
  // The choices say already where one thread is to be used.
  keep(inputs, plan_of(std::move(graph), choices, kernels_, packed_));
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

std::shared_ptr<const Plan> Engine::plan_of(std::unique_ptr<Graph> graph, const PlanChoices& choices) {
  const auto choose = [this](const KernelRequest& request) { return invariant_->choice(request); };
  auto plan = plan_of(std::move(graph), choices, kernels(), packed_, invariant_ ? choose : ChooseTactic());
  kernels_.applied_fault();  // it must be in this plan, or in one before
  return plan;
}

std::shared_ptr<const Plan> Engine::plan_of(std::unique_ptr<Graph> graph, const PlanChoices& choices,
                                            const KernelSource& kernels, PackedConstants& packed,
                                            const ChooseTactic& choose) {
  const KernelSource& inner = &kernels == &kernels_ ? this->kernels() : kernels;
  const auto compile_region = [this, images = choices.images, &kernels = inner,
                               &packed](std::unique_ptr<Graph> region) {
    return std::make_shared<Program>(
        std::move(region),
        [this, images, &kernels, &packed](const Graph& inner, const std::vector<ValueType>& types) {
          return plan_of(specialise(inner, types), {images, {}}, kernels, packed);
        },
        kernels);
  };
  auto plan = std::make_shared<const Plan>(
      make_plan(std::move(graph), kernels, compile_region, packed, choices, choose));
  if (options_.precision.constraints == PrecisionConstraints::kObey) {
    const PrecisionAudit found = audit(*plan);
    if (found.differences() > 0) throw PrecisionDifference(found);
  }
  return plan;
}

std::shared_ptr<const Plan> Engine::plan_with(const Plan& plan, const KernelSource& kernels,
                                              PackedConstants& packed) {
  return plan_of(clone(*plan.graph), plan.choices, kernels, packed);
}

PrecisionAudit Engine::audit(const Plan& plan) const {
  return audit_precision(plan, content_.precision, content_.nodes);
}

PlanChoices Engine::tune(const Graph& specialised) {
  if (options_.tune.level == 0) return {};
  const auto cache =
      options_.timing_cache ? options_.timing_cache : std::make_shared<TimingCache>(timing_device());
  const cpu::CpuKernels sound;  // a fault is not to be found here: the tactic would not be used
  const ThreadInvariantKernels invariant(sound, omp_get_max_threads);
  const KernelSource& tried = options_.deterministic ? static_cast<const KernelSource&>(invariant) : sound;
  const TuneOptions options = with_names(options_.tune);
  Tuner tuner(tried, outputs_by_reference, *cache, options, constant_bytes(specialised));
  PackedConstants packed;  // what is tried is not kept
  const auto make = [&](const PlanWay& way) {
    return plan_of(clone(specialised), {way.images, {}}, tried, packed,
                   [&](const KernelRequest& request) { return tuner.choose(request, way.near_ties); });
  };
  const ChosenPlan chosen =
      options_.deterministic ? ChosenPlan{make({}), {}} : choose_plan(make, sound, *cache, options);
  std::copy_if(tuner.results().begin(), tuner.results().end(), std::back_inserter(tuning_),
               [&](const TuneResult& each) { return each.near_ties == chosen.way.near_ties; });
  return chosen.plan->choices;
}

}  // namespace vernier
