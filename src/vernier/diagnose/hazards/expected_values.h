// Takes what came with the data as one more witness, the first among equals: a model that does not make it
// was exported wrongly, however well engines agree on it.
#pragma once

#include "vernier/diagnose/diagnose.h"
#include "vernier/diagnose/experiments/stopwatch.h"

namespace vernier {

struct ExpectedValuesJob {
  const Model& model;
  const ComparisonResult& comparison;  // of what the engine is compared with, held against the values
  const Sample& sample;                // with these values
  const NamedData& right;              // outputs of what the engine is compared with
  const NamedData* outputs = nullptr;  // of the engine that is diagnosed; null where it did not run
  bool engine_fails = false;           // in the comparison with `right`
  std::string engine, against;         // names
  bool against_reference = true;       // else another engine, which may err itself
};

// The sample of the comparison in which a value is the farthest off.
size_t sample_of_expected(const ComparisonResult& comparison);

// Who is wrong: the values (B48), the model, and from which node on as far as they tell, or what the engine
// is compared with (B16). Nothing where it makes the values.
std::optional<RootCause> judge_expected_values(const ExpectedValuesJob& job, Stopwatch& watch);

// B16: an engine that another one is compared with is the one that is wrong.
struct LyingReferenceJob {
  const Model& model;
  const DiagnosedRunner& engine;  // that was taken for right
  const NamedData& inputs;
  const NamedData& other;    // inputs of a run before that
  const NamedData& right;    // outputs of the engine that was taken for right, where nobody looks inside
  const NamedData& outputs;  // of the engine that is diagnosed
  uint64_t seed = 1;
};

// Where and why its nodes make other than they should of what they read, as root causes of class B16; nothing
// if it is sound.
std::vector<RootCause> lying_reference(const LyingReferenceJob& job, Stopwatch& watch);

}  // namespace vernier
