// What any engine must keep to, whatever it computes: checks that need no reference.
#pragma once

#include "vernier/check/check.h"
#include "vernier/exec/runner.h"

namespace vernier {

// Runs the engine on the inputs and judges what it shows of itself:
// - ranges: what a Clip, Relu, Sigmoid, Tanh or Softmax yields lies within its range, rows of a Softmax add
// up to
//   one, what pooling yields lies within what it reads;
// - repeatability: the same inputs give the same answer, also after a run on others;
// - rows: where all inputs and outputs have the batch for their first axis, equal samples have equal answers,
// and
//   samples in another order have their answers in that order. Whether the model treats samples apart is
//   asked of the reference, where that runs it.
// Throws what the engine throws.
std::vector<Finding> metamorphic_findings(const Model& model, Runner& runner, const NamedData& inputs);

}  // namespace vernier
