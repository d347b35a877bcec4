// What many culprits have in common: weights of another model, or an operator that the model defines itself.
#pragma once

#include "vernier/diagnose/causes/culprits.h"

namespace vernier {

// Where nearly all nodes with weights are wrong and none without, and no cause explains them, one culprit
// (B47) takes the place of all.
void join_wrong_weights(const ShownRun& shown, const SameInputCheck& check, std::vector<Culprit>& culprits);

// Where several nodes are not computed in the precision that was asked for (B13), an epsilon that another one
// loses (B5) is lost by that, and gets their class.
void blame_precision_for_epsilons(std::vector<Culprit>& culprits);

// Culprits in the body of a function get the node that called it, and its class (B45): an operator that an
// engine has no kernel of its own for is somebody's plugin. `calls` as in onnx/import.h. Models that are
// functions through and through have no plugins.
void name_custom_operators(const Graph& graph, const std::map<std::string, std::string>& calls,
                           std::vector<Culprit>& culprits);

}  // namespace vernier
