// The cure of a model that overflows in its own types: its nodes in float, as --keep-fp32 has it.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/hazards/hazard_signs.h"

namespace vernier {

// The nodes that have to compute in float so that what the type of a sign does not hold stays out of that
// type: those of the chain, and those that read what they make.
std::set<std::string> nodes_to_widen(const std::set<const Node*>& chain, const RunPair& runs,
                                     const Surroundings& around);

// Gives the patterns that --keep-fp32 takes for the nodes: their names, or, of many, what these have in
// common.
std::set<std::string> patterns_of(const std::set<std::string>& nodes);

// "--keep-fp32 'a,b'"
std::string widening_option(const std::set<std::string>& patterns);

// Widens the nodes that match in the model, and runs it on the inputs. `before` is how far the outputs of the
// model as declared are from the ideal ones, in relative L2, as IdealComparison tells it; the figure is the
// same of the widened model. Nothing where the model cannot be widened so, or is not much better for it.
std::optional<Evidence> widened_model(const Model& model, const std::set<std::string>& patterns,
                                      const NamedData& inputs, const NamedData& ideal, double before);

}  // namespace vernier
