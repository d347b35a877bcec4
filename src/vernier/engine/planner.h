// Makes plans of one model: its graph at the sizes that are asked for, computed by the kernels of an engine.
#pragma once

#include "vernier/engine/engine_kernels.h"
#include "vernier/engine/file/source_files.h"
#include "vernier/engine/sizes/region_plans.h"
#include "vernier/exec/device/device_constants.h"
#include "vernier/precision/audit.h"

namespace vernier {

// Holds what holds for all sizes of a model.
struct EngineContent {
  std::unique_ptr<Graph> graph;  // after the passes that need no sizes
  std::vector<PassRecord> passes;
  PrecisionPlan precision;      // what every ONNX node is to be computed in
  std::set<std::string> nodes;  // of the ONNX model
  uint64_t structure = 0;       // of the ONNX model, see model_structure
  // Makes the graph in which each dimension of an input has a name of its own; null if no name stands at two
  // axes of the inputs, or the model is not there.
  std::function<std::unique_ptr<Graph>()> separate = nullptr;
};

// Immutable but for what it keeps of plans that it made, to make further ones faster. Thread-safe.
class Planner {
 public:
  // Throws what options that do not suit the model are refused with.
  Planner(EngineContent content, BuildOptions options);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  const EngineContent& content() const { return content_; }
  const BuildOptions& options() const { return options_; }
  const Graph& graph() const { return *content_.graph; }
  const EngineKernels& kernels() const { return kernels_; }
  PackedConstants& packed() { return packed_; }
  // The files that constants are mapped from; a loader adds its own before there is an engine.
  SourceFiles& files() { return files_; }

  // The graph that plans for these inputs are made from: graph(), unless they give a name of dimensions two
  // sizes. Throws bad_input if that one is needed and cannot be made.
  const Graph& graph_for(const std::vector<ValueType>& inputs);
  // A graph at these sizes, after the passes that need them. Throws what inference says against them.
  std::unique_ptr<Graph> specialise(const Graph& source, const std::vector<ValueType>& inputs) const;

  // The plan of a graph at known sizes. Throws PrecisionDifference where the precision plan is to be obeyed
  // and is not, usage_error if the fault of the options is in no node.
  std::shared_ptr<const Plan> plan(std::shared_ptr<const Graph> graph, const PlanChoices& choices);
  // The plan of a graph as an engine file has it, whose choices say already where one thread is to be used.
  std::shared_ptr<const Plan> plan_as_recorded(std::shared_ptr<const Graph> graph,
                                               const PlanChoices& choices);
  // The same with other kernels; they and `packed` outlive the plan, and it is not kept.
  std::shared_ptr<const Plan> plan_with(std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                        const Backend& kernels, PackedConstants& packed,
                                        const ChooseTactic& choose = nullptr);
  // A plan that was made, again with other kernels; see plan_with.
  std::shared_ptr<const Plan> plan_again(const Plan& plan, const Backend& kernels, PackedConstants& packed);
  // The plan for sizes that come when the engine runs, made as cheaply as it can be. `tuned`: the nearest
  // sizes that were tuned, null if there are none; the plan has its graph (Plan::has_graph) if that is
  // asked for.
  std::shared_ptr<const Plan> plan_on_demand(const Graph& source, const std::vector<ValueType>& inputs,
                                             const std::shared_ptr<const TunedSizes>& tuned,
                                             std::span<const MemoryBinding> bindings, bool with_graph);
  PrecisionAudit audit(const Plan& plan) const;

 private:
  void know_constants();
  // Throws PrecisionDifference unless the plan is within the precision plan.
  void require_obedience(const Plan& plan);
  // How plans are made of graphs for all sizes, but for these graphs; all outlive what is made so.
  SizedPlans::Maker plans_by(const Backend& kernels, PackedConstants& packed);
  // Plans of graph(), whose graph for all sizes is made when sizes first come that were not prepared.
  SizedPlans& sized();
  // A graph whose sizes are expressions, after the passes of plans.
  std::unique_ptr<Graph> for_all_sizes(std::unique_ptr<Graph> graph) const;
  std::shared_ptr<Program> region_program(std::unique_ptr<Graph> region, Layout images,
                                          const Backend& kernels, PackedConstants& packed);
  std::shared_ptr<const Plan> make(std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                   const Backend& kernels, PackedConstants& packed,
                                   const ChooseTactic& choose, KernelCache* cache = nullptr);
  // Gives what is chosen for inputs of these types, to which those that were tuned are the nearest.
  PlanChoices choices_of(const TunedSizes* tuned, const std::vector<ValueType>& inputs) const;

  BuildOptions options_;
  EngineContent content_;
  SourceFiles files_;
  // Kernels and device constants outlive all that has plans.
  EngineKernels kernels_;
  DeviceConstants device_constants_;
  std::unique_ptr<Graph> separate_;  // see graph_for
  std::mutex separate_mutex_;
  std::unique_ptr<SizedPlans> sized_;  // see sized
  std::once_flag sized_once_;
  RegionPrograms regions_;
  std::set<uint64_t> obedient_;  // plans that were audited, by the kernels of their nodes
  std::mutex obedient_mutex_;
  PackedConstants packed_;
};

}  // namespace vernier
