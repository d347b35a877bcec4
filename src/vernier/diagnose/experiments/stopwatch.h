// The experiments of a diagnosis: how many runs each took, how long, and how much time is left.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "vernier/backends/reference/run_limit.h"
#include "vernier/base/error.h"
#include "vernier/base/interruption.h"
#include "vernier/diagnose/diagnosis.h"

namespace vernier {

class Stopwatch {
 public:
  explicit Stopwatch(double budget) : budget_(budget) {}

  double seconds() const { return since(start_); }
  // Also where a user asks for what is known by now.
  bool is_over() const { return is_interrupted() || seconds() > budget_; }
  double left() const { return std::max(0.0, budget_ - seconds()); }
  // Whether so large a part of the budget is spent: what is left is for what comes after.
  bool is_past(double part) const { return seconds() > part * budget_; }
  // Runs an experiment, and notes it.
  template <class Body>
  auto time(const std::string& name, int64_t runs, const Body& body) {
    struct Note {
      Stopwatch& watch;
      const std::string& name;
      int64_t runs;
      Clock::time_point begin = Clock::now();
      ~Note() { watch.note(name, runs, since(begin)); }
    } note{*this, name, runs};
    return body();
  }
  const std::vector<Experiment>& experiments() const { return experiments_; }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  void note(const std::string& name, int64_t runs, double seconds) {
    for (Experiment& known : experiments_) {
      if (known.name != name) continue;
      known.runs += runs;
      known.seconds += seconds;
      return;
    }
    experiments_.push_back({name, runs, seconds});
  }

  double budget_;
  Clock::time_point start_ = Clock::now();
  std::vector<Experiment> experiments_;
};

// Experiments that may fail: what was learnt before them stays.

// Runs an experiment on `what`. An engine that stops in the middle of it, or an end of the time before it or
// in it, is a note; wrong usage is not.
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
    if (RunLimit::is_over())
      notes.push_back(fmt::format("the time was over while {} was looked into", what));
    else
      notes.push_back(fmt::format("{} could not be looked into: {}", what, error.message()));
  }
}

}  // namespace vernier
