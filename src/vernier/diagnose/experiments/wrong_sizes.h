// A node whose results have other sizes than the model says, which no caller takes: what it makes, and why.
#pragma once

#include "vernier/diagnose/causes/reproduction.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// Runs the nodes of the model up to that one, as a model that says nothing of the sizes of its outputs, and
// looks for the cause that reproduces what the node makes then; its operands are what the reference makes.
// No cause: it does not run like that either, or it is none that is known.
Reproduction cause_of_sizes(EngineUnderTest& tested, const Model& model, size_t node, const NamedData& inputs,
                            Stopwatch& watch);

}  // namespace vernier
