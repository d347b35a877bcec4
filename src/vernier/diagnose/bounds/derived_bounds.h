#pragma once

#include "vernier/compare/compare.h"
#include "vernier/diagnose/bounds/propagated_error.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

// A network may make so much more of the errors at hand than of those that were drawn.
inline constexpr double kBoundFactor = 6;

// A bound is no law for what is a little more. What is so many times as much fails, whatever tolerance the
// type has.
inline constexpr double kFarBeyond = 10;

// The narrowest float that values of the graph are stored in: what most of its errors come from.
ElementType narrowest_float(const Graph& graph);

// So many times its roundings, those of the type that values are stored in, a model is off that is
// ill-conditioned.
inline constexpr double kIllConditioned = 1e4;

// How many of the roundings of its own types an output of the declared model is off, by the relative L2 of
// that from the ideal. What they move so far a sound engine's may, too. 0 where the model quantizes: then it
// is not rounding that moves it.
double own_amplification(const Graph& declared, double relative_l2);

// Gives the most that roundings explain of an output that is expected to err so.
DerivedBound bound_of(const PropagatedError& expected, const ShownRun& shown);

// Bounds what the roundings that the engine under test promises may make of its outputs on these inputs, by
// name, and of those of these inner values that its graph has. Nothing of a value on the way to which a node
// makes what no rounding explains on what it reads itself: then no bound may excuse the value. Nothing of
// inner values where the engine quantizes. Throws what the engine under test throws.
std::map<std::string, DerivedBound> derived_bounds(EngineUnderTest& tested, const NamedData& inputs,
                                                   uint64_t seed,
                                                   const std::set<std::string>& inner_values = {});

// Gives the same of an engine of ours. Nothing of other runners, which promise nothing.
std::map<std::string, DerivedBound> promised_bounds(Runner& runner, const NamedData& inputs, uint64_t seed,
                                                    const std::set<std::string>& inner_values = {});

// Takes the outputs of a runner and by how much they err (relative L2 from the declared model), and gives the
// bounds of those that are far beyond them. An engine of ours has the roundings that it promises, any other
// those that the types of the model are reason for. What an engine of ours quantizes is not judged, for that
// is no rounding. The model outlives it.
ExceededBounds exceeded_bounds(const Model& model, uint64_t seed);

}  // namespace vernier
