// Experiments that may fail: what was learnt before them stays.
#pragma once

#include <fmt/format.h>

#include "vernier/base/error.h"
#include "vernier/diagnose/experiments/stopwatch.h"

namespace vernier {

// Runs an experiment on `what`. An engine that stops in the middle of it, or an end of the time before it, is
// a note; wrong usage is not.
template <class Body>
void attempt(const std::string& what, const Stopwatch& watch, std::vector<std::string>& notes,
             const Body& body) {
  if (watch.is_over()) {
    notes.push_back(fmt::format("the time was over before {} could be looked into", what));
    return;
  }
  try {
    body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUsage) throw;
    notes.push_back(fmt::format("{} could not be looked into: {}", what, error.message()));
  }
}

}  // namespace vernier
