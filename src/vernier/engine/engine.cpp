#include "vernier/engine/engine.h"

#include "vernier/backends/installed/drivers.h"
#include "vernier/base/threads.h"
#include "vernier/engine/audit.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/file/recorded_options.h"
#include "vernier/engine/make_content.h"
#include "vernier/engine/pipelines.h"
#include "vernier/engine/shared_forms.h"
#include "vernier/engine/sizes/dimension_names.h"
#include "vernier/engine/tactics.h"
#include "vernier/engine/workspace.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/tune/choose_plan.h"

namespace vernier {

namespace {

// The plan, among the layouts, in which a tactic that is forced computes most nodes.
ChosenPlan plan_with_most(const std::string& tactic,
                          const std::function<std::shared_ptr<const Plan>(const PlanCandidate&)>& make) {
  ChosenPlan best;
  int64_t most = -1;
  for (const Layout images : {Layout::kChannelsLast, Layout::kBlocked16}) {
    auto plan = make({images});
    const auto count = std::count_if(plan->choices.tactics.begin(), plan->choices.tactics.end(),
                                     [&](const auto& entry) { return entry.second == tactic; });
    if (count <= most) continue;
    most = count;
    best = {std::move(plan), {images}};
  }
  return best;
}

}  // namespace

std::string timing_device() {
  return fmt::format("{}; Vernier {}, {}; {} threads", host_driver().instruction_sets(), VERNIER_VERSION,
                     host_driver().library_versions(), thread_count());
}

Engine::Engine(Content content, BuildOptions options)
    : options_(std::move(options)),
      files_(*content.graph),
      content_(std::move(content)),
      host_(host_driver().make(options_.accelerators.empty() ? options_.fault : std::nullopt)) {
  if (options_.precision.constraints == PrecisionConstraints::kObey)
    obeying_ = std::make_unique<ObeyingKernels>(*host_, content_.precision, content_.nodes);
  if (options_.deterministic) invariant_ = std::make_unique<ThreadInvariantKernels>(steered(), thread_count);
  for (const auto& accelerator : options_.accelerators) add_accelerator(*accelerator);
  for (const ShapeProfile& profile : options_.profiles) check_profile(profile, graph());
  know_constants();
}

void Engine::add_accelerator(const Driver& driver) {
  // A fault goes into the device that comes first.
  const auto fault = accelerators_.empty() ? options_.fault : std::nullopt;
  Accelerator added{driver.make(fault), nullptr, driver.fingerprint()};
  if (fault) added.sound = driver.make();
  if (options_.precision.constraints == PrecisionConstraints::kObey)
    added.obeying = std::make_unique<ObeyingKernels>(*added.backend, content_.precision, content_.nodes);
  accelerators_.push_back(std::move(added));
}

std::vector<const Backend*> Engine::accelerators() const {
  std::vector<const Backend*> all;
  for (const Accelerator& each : accelerators_) all.push_back(&each.steered());
  return all;
}

const Driver& Engine::driver() const {
  return options_.accelerators.empty() ? host_driver() : *options_.accelerators.front();
}

std::shared_ptr<Engine> Engine::build(const Model& model, const BuildOptions& asked) {
  BuildOptions options = asked;
  options.precision = resolved_precision(options.precision);
  auto graph = clone(*model.graph);
  if (!options.keep_defaults)
    std::erase_if(graph->inputs, [](const Value* input) { return input->is_constant(); });
  auto source = shares_names(*graph) ? clone(*graph) : nullptr;
  auto content = make_content(std::move(graph), *model.graph, options);
  SourceFiles(*model.graph).require_unchanged();  // constants that were folded were read from there
  auto engine = restore(std::move(content), options);
  engine->source_ = std::move(source);
  return engine;
}

const Graph& Engine::graph_for(const std::vector<ValueType>& inputs) {
  if (!contradicts_names(graph(), inputs)) return graph();
  const std::lock_guard lock(separate_mutex_);
  if (separate_) return *separate_;
  if (!source_) {
    throw bad_input("the inputs give dimensions of one name two sizes, which the engine takes for equal")
        .advise("give them two names in the model and build the engine again");
  }
  BuildOptions options = options_;
  if (options.precision.changes_types() || options.planned) options.planned = content_.precision;
  auto graph = clone(*source_);
  separate_names(*graph);
  separate_ = make_content(std::move(graph), *source_, options).graph;
  return *separate_;
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
        [this](const Graph& source, const std::vector<ValueType>& inputs, Program::Caches caches,
               bool with_graph) {
          require_profile(options_.profiles, source, inputs);
          auto plan = plan_on_demand(source, inputs, caches, with_graph);
          require_workspace(*plan, options_.workspace, options_.profiles);
          return plan;
        },
        kernels());
  return *program;
}

void Engine::forget_prepared() {
  for (const Prepared& prepared : prepared_) program(prepared.threads).remove(prepared.inputs);
  prepared_.clear();
  tuned_.clear();
  tuning_.clear();
  offered_.clear();
}

void Engine::tune_for(const std::vector<ValueType>& inputs) {
  require_profile(options_.profiles, graph(), inputs);
  tuned_.add({inputs, tune(*specialise(graph_for(inputs), inputs))});
}

void Engine::prepare(const std::vector<ValueType>& inputs, const PlanChoices* choices) {
  require_profile(options_.profiles, graph(), inputs);
  auto specialised = specialise(graph_for(inputs), inputs);
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

void Engine::keep(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan) {
  const int threads = thread_count();
  program(threads).add(inputs, plan);
  tuned_.add({inputs, plan->choices});
  prepared_.push_back({inputs, std::move(plan), threads});
}

std::unique_ptr<Graph> Engine::specialise(const Graph& source, const std::vector<ValueType>& inputs) const {
  auto graph = clone(source);
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph->inputs[i]->type = inputs[i];
    graph->inputs[i]->constant.reset();  // a default is given like any other input
  }
  ops::infer_types(*graph);
  run_passes(*graph, plan_pipeline(driver().group_traits()), options_.passes);
  return graph;
}

std::shared_ptr<const Plan> Engine::plan_of(std::shared_ptr<const Graph> graph, const PlanChoices& choices) {
  const auto choose = [this](const KernelRequest& request, const Backend& backend) {
    return backend.device().host_visible() ? invariant_->choice(request) : std::string();
  };
  auto plan = plan_of(std::move(graph), choices, kernels(), packed_, invariant_ ? choose : ChooseTactic());
  // The fault must be in this plan, or in one before; but a step without a kernel gets one when it runs.
  if (options_.fault &&
      std::all_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) { return step.is_settled(); }))
    fault();
  return plan;
}

std::shared_ptr<const Plan> Engine::plan_of(std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                            const Backend& kernels, PackedConstants& packed,
                                            const ChooseTactic& choose, KernelCache* cache) {
  const Backend& inner = &kernels == &steered() ? this->kernels() : kernels;
  const auto compile_region = [this, images = choices.images, &inner,
                               &packed](std::unique_ptr<Graph> region) {
    return region_program(std::move(region), images, inner, packed);
  };
  auto plan = std::make_shared<const Plan>(make_plan(std::move(graph),
                                                     Backends(kernels, accelerators(), &device_constants_),
                                                     compile_region, packed, choices, choose, cache));
  if (options_.precision.constraints == PrecisionConstraints::kObey) require_obedience(*plan);
  return plan;
}

std::shared_ptr<const Plan> Engine::plan_with(const Plan& plan, const Backend& kernels,
                                              PackedConstants& packed) {
  return plan_of(clone(*plan.graph), plan.choices, kernels, packed);
}

std::optional<FaultSpec> Engine::fault() const {
  std::optional<FaultSpec> found = host_->applied_fault();
  for (const Accelerator& each : accelerators_) {
    if (auto own = each.backend->applied_fault()) found = own;
  }
  return found;
}

PrecisionAudit Engine::audit(const Plan& plan) const {
  return audit_precision(plan, content_.precision, content_.nodes);
}

PlanChoices Engine::tune(const Graph& specialised) {
  TuneOptions options = with_names(options_.tune);
  constexpr int kTrying = 2;  // the first level that does
  if (!options.forced.empty()) options.level = std::max(options.level, kTrying);
  if (options.level == 0) return {};
  const auto cache =
      options_.timing_cache ? options_.timing_cache : std::make_shared<TimingCache>(timing_device());
  // A fault is not to be found here, since the tactic would not be used; but for one that stops the process.
  const auto sound = host_driver().make();
  const bool stops = options_.fault && stops_process(options_.fault->kind);
  const Backend& kernels = stops ? *host_ : *sound;
  const ObeyingKernels obeying(kernels, content_.precision, content_.nodes);
  const Backend& steered = obeying_ ? obeying : kernels;
  const ThreadInvariantKernels invariant(steered, thread_count);
  const Backend& tried = options_.deterministic ? static_cast<const Backend&>(invariant) : steered;
  Tuner tuner(tried, *cache, options, constant_bytes(specialised));
  std::map<const Backend*, Tuner> of_devices;
  for (const Accelerator& each : accelerators_) {
    const Backend& backend = each.steered();
    of_devices.try_emplace(&backend, each.sound ? *each.sound : backend, *cache, options, 0,
                           each.fingerprint);
  }
  PackedConstants packed;  // what is tried is not kept
  // Further sizes read the constants in the forms that the first ones do, as far as there are kernels for
  // that.
  SharedForms forms(tried, packed_);
  for (const Prepared& prepared : prepared_) forms.add(*prepared.plan);
  const auto admits = [&](const KernelRequest& request) -> Tuner::Admits {
    if (prepared_.empty()) return nullptr;
    return [&](const std::string& tactic) { return forms.suffice(request, tactic); };
  };
  const auto make = [&](const PlanCandidate& way) {
    const auto choose = [&](const KernelRequest& request, const Backend& backend) {
      const auto device = of_devices.find(&backend);
      return device == of_devices.end() ? tuner.choose(request, way.near_ties, admits(request))
                                        : device->second.choose(request);
    };
    return plan_of(clone(specialised), {way.images, {}}, tried, packed, choose);
  };
  const ChosenPlan chosen =
      !options.forced.empty()                            ? plan_with_most(options.forced, make)
      : options_.deterministic || !accelerators_.empty() ? ChosenPlan{make({}), {}}  // plans are not timed
      : !prepared_.empty() ? ChosenPlan{make({prepared_.front().plan->choices.images}), {}}
                           : choose_plan(make, steered, *cache, options);
  const auto keep = [&](const std::vector<TuneResult>& results, NearTies near_ties) {
    for (const TuneResult& each : results) {
      for (const auto& [tactic, record] : each.records) {
        if (!tactic.empty()) offered_.insert(tactic);
      }
      if (each.near_ties == near_ties) tuning_.push_back(each);
    }
  };
  keep(tuner.results(), chosen.way.near_ties);
  for (const auto& [backend, device] : of_devices) keep(device.results(), NearTies::kOwnChoice);
  return chosen.plan->choices;
}

}  // namespace vernier
