#include "vernier/compile/compiler.h"

#include "vernier/base/threads.h"
#include "vernier/compile/choose_tactics.h"
#include "vernier/compile/make_content.h"
#include "vernier/engine/sizes/dimension_names.h"
#include "vernier/engine/workspace.h"
#include "vernier/ir/clone.h"

namespace vernier {

namespace {

// Makes the graph of a model whose inputs give a name of dimensions two sizes; in the types of the engine,
// which are planned already.
std::function<std::unique_ptr<Graph>()> maker_of_separate(std::shared_ptr<const Graph> source,
                                                          const PrecisionPlan& planned,
                                                          BuildOptions options) {
  if (options.precision.changes_types() || options.planned) options.planned = planned;
  return [source = std::move(source), options = std::move(options)] {
    auto graph = clone(*source);
    separate_names(*graph);
    return make_content(std::move(graph), *source, options).graph;
  };
}

EngineContent content_of(const Model& model, const BuildOptions& options) {
  auto graph = clone(*model.graph);
  if (!options.keep_defaults)
    std::erase_if(graph->inputs, [](const Value* input) { return input->is_constant(); });
  std::shared_ptr<const Graph> source = shares_names(*graph) ? clone(*graph) : nullptr;
  auto content = make_content(std::move(graph), *model.graph, options);
  SourceFiles(*model.graph).require_unchanged();  // constants that were folded were read from there
  if (source) content.separate = maker_of_separate(std::move(source), content.precision, options);
  return content;
}

// A plan may be for another device: what is wider is as good.
void require_tf32(const BuildOptions& options) {
  const auto& devices = options.accelerators;
  const bool has_tf32 =
      std::any_of(devices.begin(), devices.end(), [](const auto& driver) { return driver->computes_tf32(); });
  if (has_tf32 || !options.precision.asks_tf32()) return;
  throw unsupported(
      "TF32 is asked for, and the device of the engine has none: a CPU multiplies floats as they are")
      .advise("build for a GPU (--cuda), or leave out what asks for TF32 (--tf32, --layer-precisions)");
}

}  // namespace

Compiler::Compiler(const Model& model, const BuildOptions& asked) {
  BuildOptions options = asked;
  options.precision = resolved_precision(options.precision);
  require_tf32(options);
  auto content = content_of(model, options);
  planner_ = std::make_shared<Planner>(std::move(content), std::move(options));
}

void Compiler::require_sizes(const std::vector<ValueType>& inputs) const {
  planner_->specialise(planner_->graph_for(inputs), inputs);
}

void Compiler::prepare(const std::vector<ValueType>& inputs) {
  require_profile(options().profiles, graph(), inputs);
  const auto specialised = planner_->specialise(planner_->graph_for(inputs), inputs);
  const PlanChoices choices = choose_tactics(*planner_, *specialised, prepared_, tuning_);
  keep(inputs, within_workspace(planner_->plan(clone(*specialised), choices), *specialised));
}

void Compiler::prepare(const std::vector<ValueType>& inputs, const PlanChoices& choices) {
  require_profile(options().profiles, graph(), inputs);
  keep(inputs, planner_->plan(planner_->specialise(planner_->graph_for(inputs), inputs), choices));
}

void Compiler::tune_for(const std::vector<ValueType>& inputs) {
  require_profile(options().profiles, graph(), inputs);
  const auto specialised = planner_->specialise(planner_->graph_for(inputs), inputs);
  tuned_.add({inputs, choose_tactics(*planner_, *specialised, prepared_, tuning_)});
}

// Where a plan needs more than is allowed, perhaps one without tactics does not: Winograd's transforms and
// split images take memory of their own.
std::shared_ptr<const Plan> Compiler::within_workspace(std::shared_ptr<const Plan> plan,
                                                       const Graph& specialised) {
  const size_t limit = options().workspace;
  if (limit == 0) return plan;
  for (const Layout images : {plan->choices.images, Layout::kChannelsLast}) {
    if (plan->arena_bytes <= limit) break;
    auto leaner = planner_->plan(clone(specialised), {images, {}});
    if (leaner->arena_bytes < plan->arena_bytes) plan = std::move(leaner);
  }
  return plan;
}

void Compiler::keep(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan) {
  require_workspace(*plan, options().workspace, options().profiles);
  tuned_.add({inputs, plan->choices});
  prepared_.push_back({inputs, std::move(plan), thread_count()});
}

void Compiler::forget_prepared() {
  prepared_.clear();
  tuned_.clear();
  tuning_ = {};
}

std::shared_ptr<const Engine> Compiler::engine() const {
  return std::make_shared<const Engine>(planner_, prepared_, tuned_, tuning_);
}

std::shared_ptr<const Engine> compile(const Model& model, const BuildOptions& options,
                                      const std::vector<std::vector<ValueType>>& sizes) {
  Compiler compiler(model, options);
  for (const auto& inputs : sizes) compiler.prepare(inputs);
  return compiler.engine();
}

}  // namespace vernier
