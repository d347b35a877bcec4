// What came with the data as one more witness, the first among equals: a model that does not make it was
// exported wrongly, however well engines agree on it.
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
std::optional<Culprit> judge_expected_values(const ExpectedValuesJob& job, Stopwatch& watch);

}  // namespace vernier
