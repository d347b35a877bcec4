// A repair that may help: what to change, and nothing of whether it does.
#pragma once

#include <functional>
#include <optional>

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/repairs/repair_builder.h"
#include "vernier/precision/plan.h"

namespace vernier {

struct RepairCandidate {
  Repair::Kind kind = Repair::Kind::kRewrite;
  std::string name;      // of its files: "clip-as-max-and-min"
  std::string sentence;  // what is done: "write 'clip' as Max and Min"
  // One of these, by kind. A rewrite changes a copy of the model, and gives false where it finds nothing to
  // change; a plan gives nothing then.
  std::function<bool(Model& model)> rewrite = nullptr;
  std::function<std::optional<PrecisionPlan>(const PrecisionPlan& plan)> plan = nullptr;
  std::map<std::string, std::string> options = {};
  // Says what the caller has to do with the inputs of a sample, or with the outputs of a run.
  std::function<NamedData(const NamedData& inputs)> inputs = nullptr;
  std::function<void(Trace& trace)> outputs = nullptr;
  // How the caller has to run a sample, where one run as it is will not do.
  std::function<Trace(Runner& runner, const NamedData& inputs)> run = nullptr;
  bool starts_anew = false;  // the engine is started for each run
  size_t times = 1;          // that it must hold for each sample: more often where chance decides
  // How far the outputs of a rewritten model may be from those of the model, in relative L2: constants of it
  // are rounded to their types.
  double preserves_within = 1e-6;
};

// Holds what candidates are made of.
struct RepairContext {
  const Model& model;
  FailureClass failure;
  std::vector<std::string> nodes;   // of the root causes of that class, the most likely of each first
  std::vector<std::string> values;  // inputs and outputs, where the fault lies outside of the graph
  const NamedData& inputs;          // of the sample that candidates are chosen on
  const RepairBuilder& repair_builder;
  bool has_plan = false;  // whether the engine can be built with another precision plan
};

// Gives the candidates that suit the class, the cheapest first.
std::vector<RepairCandidate> repair_candidates(const RepairContext& context);

// The families of which it makes them, one a file. Each adds what suits the context.
void widen_in_plan(const RepairContext& context, std::vector<RepairCandidate>& candidates);
void widen_everything(const RepairContext& context, std::vector<RepairCandidate>& candidates);
void change_options(const RepairContext& context, std::vector<RepairCandidate>& candidates);
void correct_caller(const RepairContext& context, std::vector<RepairCandidate>& candidates);
void run_otherwise(const RepairContext& context, std::vector<RepairCandidate>& candidates);
void rewrite_model(const RepairContext& context, std::vector<RepairCandidate>& candidates);

// The plan for a rewritten model. A node that stands in the place of another one, "clip~Max", is computed in
// what that one was, and a node that is new in float; nodes that are gone are left out.
PrecisionPlan carried_plan(const PrecisionPlan& plan, const Graph& rewritten);

}  // namespace vernier
