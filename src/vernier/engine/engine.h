// A built model: immutable, shared by any number of sessions.
#pragma once

#include <mutex>

#include "vernier/backends/shared/driver.h"
#include "vernier/engine/file/restored_plan.h"
#include "vernier/engine/file/source_files.h"
#include "vernier/engine/obeying_kernels.h"
#include "vernier/engine/sizes/region_plans.h"
#include "vernier/engine/sizes/shape_profile.h"
#include "vernier/exec/device/device_constants.h"
#include "vernier/exec/program.h"
#include "vernier/passes/pass.h"
#include "vernier/precision/audit.h"
#include "vernier/precision/options.h"
#include "vernier/tune/thread_invariant_kernels.h"
#include "vernier/tune/tuner.h"

namespace vernier {

struct BuildOptions {
  // Inputs with a default stay inputs that a caller may give. Otherwise they are constants of the engine:
  // many exporters list all weights as inputs.
  bool keep_defaults = false;
  // The same bits for every run, every number of threads and every build: nothing that is measured decides
  // what is computed, and where bits depend on the number of threads one is used.
  bool deterministic = false;
  size_t workspace = 0;  // bytes of working memory that a plan may take; 0: as many as it needs
  PassOptions passes;
  PrecisionOptions precision;
  // What was planned before, to be used instead of what `precision` asks for.
  std::optional<PrecisionPlan> planned;
  std::vector<ShapeProfile> profiles;  // none: any sizes run
  TuneOptions tune;
  std::shared_ptr<TimingCache> timing_cache;  // null: what is timed is forgotten
  std::optional<FaultSpec> fault;             // a defect to be found (docs/fault-injection.md)
  // Devices beside the host, the preferred first; what none of them computes runs on the host.
  std::vector<std::shared_ptr<const Driver>> accelerators;
};

// What times depend on besides the work itself; the name of this machine in a timing cache.
std::string timing_device();

class Engine {
 public:
  // What holds for all sizes.
  struct Content {
    std::unique_ptr<Graph> graph;  // after the passes that need no sizes
    std::vector<PassRecord> passes;
    PrecisionPlan precision;      // what every ONNX node is to be computed in
    std::set<std::string> nodes;  // of the ONNX model
    uint64_t structure = 0;       // of the ONNX model, see model_structure
  };
  struct Prepared {
    std::vector<ValueType> inputs;
    std::shared_ptr<const Plan> plan;
    int threads;
  };

  // What Builder (builder.h) begins with: nothing is tuned yet. The model is copied; constants share their
  // buffers. Throws as import does, and for options that do not suit the model.
  static std::shared_ptr<Engine> build(const Model& model, const BuildOptions& options = {});
  // From what was built before.
  static std::shared_ptr<Engine> restore(Content content, const BuildOptions& options);

  // Throws what inference says against inputs of these types; makes no plan.
  void require_sizes(const std::vector<ValueType>& inputs) { specialise(graph_for(inputs), inputs); }
  // Makes the plan for inputs of these types, for the number of threads that the caller has, and keeps it: it
  // goes into the engine file. `choices` null: layouts and tactics are tried as the options say, which
  // sessions do not when they meet new sizes. Throws PrecisionDifference where the precision plan is to be
  // obeyed and is not.
  void prepare(const std::vector<ValueType>& inputs, const PlanChoices* choices = nullptr);
  // Chooses layouts and tactics for inputs of these types and keeps no plan: sizes near them take the
  // choices.
  void tune_for(const std::vector<ValueType>& inputs);
  // The same with choices that were made before.
  void keep_choices(TunedSizes sizes) { tuned_.add(std::move(sizes)); }
  // What was chosen, and at which sizes: those that were prepared, and those that were only tuned.
  const TunedChoices& tuned() const { return tuned_; }
  // A plan of an engine file is made when its sizes first come, from what the file says of it.
  void restore_plan(RestoredPlan::Recipe recipe);
  // Makes those of an engine file that were not needed yet. Throws what making them throws.
  const std::vector<Prepared>& prepared();
  // What the largest plan that was prepared, or is to be restored, needs of working memory. In bytes.
  size_t largest_arena() const;
  // As if nothing had been prepared; no session has a run under way.
  void forget_prepared();
  // A plan of this engine again, with other kernels; both outlive it. It is not kept.
  std::shared_ptr<const Plan> plan_with(const Plan& plan, const Backend& kernels, PackedConstants& packed);

  // Kernels are made for a number of threads, so there is a program for each. Thread-safe. To be run, and
  // asked for plans, under that number only.
  Program& program(int threads);

  const Graph& graph() const { return *content_.graph; }
  const Content& content() const { return content_; }
  const std::vector<PassRecord>& passes() const { return content_.passes; }
  const PrecisionPlan& precision() const { return content_.precision; }
  PrecisionAudit audit(const Plan& plan) const;
  PackedConstants& packed() { return packed_; }
  const PackedConstants& packed() const { return packed_; }
  // Kernels of the devices beside the host, in the order of the options.
  std::vector<const Backend*> accelerators() const;
  const Backend& kernels() const { return invariant_ ? static_cast<const Backend&>(*invariant_) : steered(); }
  const std::vector<TuneResult>& tuning() const { return tuning_; }
  // Tactics that some node could be computed by, in any layout that was tried.
  const std::set<std::string>& offered_tactics() const { return offered_; }
  // To be told what the tuning of another engine found, of which this one has the choices.
  void take_tuning(const Engine& other) {
    tuning_ = other.tuning_;
    offered_ = other.offered_;
  }
  const BuildOptions& options() const { return options_; }
  // The name of the device that is preferred.
  const std::string& device() const { return driver().name(); }
  // The files that constants are mapped from.
  SourceFiles& files() { return files_; }
  const SourceFiles& files() const { return files_; }
  // The fault of the options, and the ONNX node that it is in. Throws usage_error where it is in none, and if
  // a device was to have one in its queues and was not used so often.
  std::optional<FaultSpec> fault() const;

 private:
  Engine(Content content, BuildOptions options);
  void know_constants();
  void add_accelerator(const Driver& driver);
  // Of the device that is preferred: passes make what suits it.
  const Driver& driver() const;
  // The graph that a plan for these inputs is made from: graph(), unless they give a name of dimensions two
  // sizes. Then it is one in which every dimension of an input is its own; it is made when it is first
  // needed. Throws bad_input if the engine comes from a file, which does not hold it.
  const Graph& graph_for(const std::vector<ValueType>& inputs);
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
  // The plan for sizes that come when the engine runs.
  std::shared_ptr<const Plan> plan_on_demand(const Graph& source, const std::vector<ValueType>& inputs,
                                             std::span<const CacheBinding> caches, bool with_graph);
  // The graph at these sizes, after the passes that need them.
  std::unique_ptr<Graph> specialise(const Graph& graph, const std::vector<ValueType>& inputs) const;
  std::shared_ptr<const Plan> plan_of(std::shared_ptr<const Graph> graph, const PlanChoices& choices);
  // The same with other kernels; both outlive the plan.
  std::shared_ptr<const Plan> plan_of(std::shared_ptr<const Graph> graph, const PlanChoices& choices,
                                      const Backend& kernels, PackedConstants& packed,
                                      const ChooseTactic& choose = nullptr, KernelCache* cache = nullptr);
  PlanChoices tune(const Graph& specialised);
  // Kernels within the precision plan, if it is to be obeyed.
  const Backend& steered() const { return obeying_ ? static_cast<const Backend&>(*obeying_) : *host_; }
  std::shared_ptr<const Plan> within_workspace(std::shared_ptr<const Plan> plan, const Graph& specialised);
  // What is chosen for inputs of these types, to which those that were tuned are the nearest.
  PlanChoices choices_of(const TunedSizes* tuned, const std::vector<ValueType>& inputs) const;
  // The plan that an engine file has for these sizes and so many threads as the caller has; null if none.
  std::shared_ptr<const Plan> restored_plan(const std::vector<ValueType>& inputs);
  void keep(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan);

  struct Accelerator {
    std::unique_ptr<FaultableBackend> backend;
    std::unique_ptr<ObeyingKernels> obeying;  // where the plan is to be obeyed
    std::string fingerprint;                  // all that times of its kernels depend on
    // Without the fault, to try tactics by; null where there is none.
    std::unique_ptr<FaultableBackend> sound = nullptr;

    const Backend& steered() const { return obeying ? static_cast<const Backend&>(*obeying) : *backend; }
  };

  BuildOptions options_;
  // Destroyed behind all that has plans, whose kernels and constants are on these devices.
  std::vector<Accelerator> accelerators_;
  DeviceConstants device_constants_;
  SourceFiles files_;
  Content content_;
  std::unique_ptr<Graph> source_;    // as the model has it; null if no name stands at two axes of the inputs
  std::unique_ptr<Graph> separate_;  // see graph_for
  std::mutex separate_mutex_;
  std::unique_ptr<SizedPlans> sized_;  // see sized
  std::once_flag sized_once_;
  RegionPrograms regions_;
  std::set<uint64_t> obedient_;  // plans that were audited, by the kernels of their nodes
  std::mutex obedient_mutex_;
  std::unique_ptr<FaultableBackend> host_;
  std::unique_ptr<ObeyingKernels> obeying_;            // where the plan is to be obeyed
  std::unique_ptr<ThreadInvariantKernels> invariant_;  // where the options say deterministic
  PackedConstants packed_;
  std::vector<Prepared> prepared_;
  std::list<RestoredPlan> restored_;
  std::once_flag restored_once_;  // whether prepared_ has them
  TunedChoices tuned_;
  std::vector<TuneResult> tuning_;
  std::set<std::string> offered_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Program>> programs_;  // by number of threads
};

}  // namespace vernier
