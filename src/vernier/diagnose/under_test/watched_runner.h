#pragma once

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/exec/runner_decorator.h"

namespace vernier {

// A runner whose runs have an end, and whose failures are kept.
class WatchedRunner : public RunnerDecorator {
 public:
  struct Failure {
    NamedData inputs;
    std::string message;
    bool unsupported = false;  // it has nothing that runs such a model
  };

  // Both outlive this. A run may take that part of the time that is left.
  WatchedRunner(Runner& runner, const Stopwatch& watch, double part = 1)
      : RunnerDecorator(runner), watch_(watch), part_(part) {}

  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;
  // Skips what only improves a verdict when the time is over.
  std::optional<Trace> run_with_noise(const NamedData& inputs, const std::vector<std::string>& taps,
                                      uint64_t seed) override;
  std::optional<Trace> run_with_values(const NamedData& inputs, const std::vector<std::string>& taps,
                                       const NamedData& values, std::optional<uint64_t> noise_seed) override;
  Runner& original() override { return *this; }  // nobody gets past the watch

  const std::optional<Failure>& first_failure() const { return failure_; }

 private:
  void require_time() const;

  const Stopwatch& watch_;
  double part_;
  std::optional<Failure> failure_;
};

}  // namespace vernier
