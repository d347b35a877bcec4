// Asks `diagnose` about a case, because a smaller one may show the same for another cause.
#pragma once

#include "vernier/compare/compare.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/reduce/repro_case.h"

namespace vernier {

struct CauseJob {
  MakeRunner engine, against;  // `against` null: the reference
  CompareOptions compare;
  double budget = 30;  // seconds
  uint64_t seed = 1;
};

// The class of the first root cause that a diagnosis names on the case, whose model is at `path`: "B32",
// "unexplained", or "none". The engine is looked at from outside.
std::string cause_of(const std::filesystem::path& path, const ReproCase& reproduction, const CauseJob& job);

}  // namespace vernier
