// From a model on which an engine goes wrong to the smallest one that shows the same.
#pragma once

#include "vernier/reduce/anonymise.h"
#include "vernier/reduce/shrinking.h"

namespace vernier {

struct ReduceOptions {
  double budget = 300;  // seconds, after which nothing more is tried
  bool anonymise = false;
  uint64_t seed = 1;
  std::function<void(const std::string& step)> progress;
};

struct CaseSize {
  size_t nodes = 0;
  size_t constant_bytes = 0, input_bytes = 0;
};
CaseSize size_of(const ReproCase& reproduction);

struct Reduction {
  Symptom whole;  // of the model as it was given
  ReproCase result;
  Judgement judgement;  // of the result
  CaseSize before, after;
  std::vector<ReductionStep> steps;
  std::optional<Anonymisation> anonymisation;
  std::vector<std::string> notes;
  bool is_finished = true;  // else the time was over, or the user interrupted: it may be smaller still
  double seconds = 0;
};

// `judgement` is what the oracle says of the whole case, which shows a symptom. A copy of the case that is
// written again must show it, too, or nothing is reduced, and a note says so. Whatever happens to the engine,
// a case is given that shows the symptom.
Reduction reduce(const ReproCase& whole, const Judgement& judgement, ReductionOracle& oracle,
                 const ReduceOptions& options);

}  // namespace vernier
