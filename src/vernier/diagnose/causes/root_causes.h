// From flagged nodes to root causes: the cause of each, and its share of the error of the outputs.
#pragma once

#include "vernier/diagnose/diagnose.h"
#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/further_runs.h"
#include "vernier/diagnose/experiments/narrowing.h"

namespace vernier {

// The runs that flagged nodes come from.
struct FlaggedRuns {
  const ShownRun& shown;
  const NamedData& inputs;
  // The run before it, on other inputs; null: there was none.
  const ShownRun* before = nullptr;
  const NamedData* inputs_before = nullptr;
  // Values that the engine cannot show and give the same answer.
  const std::vector<ChangingValue>* changing = nullptr;
  // Null: the engine runs no more.
  FurtherRuns* further = nullptr;
};

// By rank, the most of the outputs' error first.
std::vector<RootCause> root_causes_of(const SameInputCheck& check, const FlaggedRuns& runs, size_t most,
                                      Stopwatch& watch);

// The next functions find what many root causes have in common: weights of another model, or an operator that
// the model defines itself.

// Where nearly all nodes with weights are wrong and none without, and no cause explains them, one root cause
// (B47) takes the place of all.
void join_wrong_weights(const ShownRun& shown, const SameInputCheck& check,
                        std::vector<RootCause>& root_causes);

// Where several nodes are not computed in the precision that was asked for (B13), an epsilon that another one
// loses (B5) is lost by that, and gets their class.
void blame_precision_for_epsilons(std::vector<RootCause>& root_causes);

// Root causes in the body of a function get the node that called it, and its class (B45): an operator that an
// engine has no kernel of its own for is somebody's plugin. `calls` as in onnx/import.h. Models that are
// functions through and through have no plugins.
void name_custom_operators(const Graph& graph, const std::map<std::string, std::string>& calls,
                           std::vector<RootCause>& root_causes);

// Says what to do about it, as far as the cause alone tells. Nothing is tried.
Repair repair_of(const RootCause& root_cause);

}  // namespace vernier
