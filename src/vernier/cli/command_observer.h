// A command that runs inside another one hands this over, besides what it prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vernier/compare/trace.h"
#include "vernier/report/bench_report.h"

namespace vernier {

struct Report;

struct BenchOutcome {
  const BenchReport& report;
  const std::vector<double>& seconds;  // of each run of the engine, in order
  const NamedData& inputs;             // the sample
  const Trace& outputs;                // what the engine yields on it
};

// Members may be null.
struct CommandObserver {
  std::function<void(const BenchOutcome& outcome)> bench;  // of `bench`, when all is measured
  // `run` calls this for each sample, runner by runner.
  std::function<void(const std::string& runner, const NamedData& inputs, const Trace& trace)> sample;
  std::function<void(const Report& report)> compared;  // of `run`, when it has reported its comparisons
};

}  // namespace vernier
