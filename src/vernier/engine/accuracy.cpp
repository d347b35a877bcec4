#include "vernier/engine/accuracy.h"

#include <chrono>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/data/random_inputs.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/planned_runner.h"
#include "vernier/run/comparison_run.h"
#include "vernier/run/noise.h"

namespace vernier {

namespace {

using Clock = std::chrono::steady_clock;

// Samples in memory, until the time is up.
class GivenSamples : public DataSource {
 public:
  GivenSamples(const std::vector<Sample>& samples, Clock::time_point end) : samples_(samples), end_(end) {}
  std::optional<Sample> next() override {
    if (at_ == samples_.size() || (at_ > 0 && Clock::now() > end_)) return std::nullopt;
    return samples_[at_++];
  }
  size_t used() const { return at_; }

 private:
  const std::vector<Sample>& samples_;
  Clock::time_point end_;
  size_t at_ = 0;
};

void keep_worst(std::map<std::string, double>& worst, const Trace& reference, const Trace& actual) {
  for (const auto& [value, distance] : noise_floor(reference, actual)) {
    double& kept = worst[value];
    kept = std::max(kept, distance.relative_l2);
  }
}

}  // namespace

AccuracyReport accuracy_verdict(const std::shared_ptr<Engine>& engine, const Model& model,
                                const std::vector<Sample>& samples, const AccuracyOptions& options) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options.seconds));
  std::vector<Sample> drawn;
  if (samples.empty()) {
    RandomInputs source(model, {options.seed, 1, {}, {}});
    if (auto sample = source.next()) drawn.push_back(std::move(*sample));
    for (Sample& sample : drawn) sample.expected.reset();
  }
  const std::vector<Sample>& used = samples.empty() ? drawn : samples;
  EngineRunner actual(engine);
  PlannedRunner planned(engine);
  std::vector<Trace> traces;
  ComparisonJob job;
  job.runners = {&planned, &actual};
  job.compare = options.compare;
  job.compare.random_data = samples.empty();
  job.seed = options.seed;
  job.observe = [&](size_t runner, const NamedData&, const Trace& trace) {
    if (runner == 1) traces.push_back(trace);
  };
  GivenSamples source(used, end);
  ComparisonOutcome outcome = run_and_compare(job, source);
  AccuracyReport report;
  report.planned = std::move(outcome.comparisons.at(0));
  report.samples = std::move(outcome.samples);
  report.notes = std::move(outcome.failures);
  if (source.used() < used.size())
    report.notes.push_back(
        fmt::format("{} of {} samples were judged in {} s", source.used(), used.size(), options.seconds));
  const RunnerModel original{{}, &model};
  for (const auto mode : {ReferenceMode::kDeclared, ReferenceMode::kIdeal}) {
    ReferenceRunner reference(original, mode);
    auto& worst = mode == ReferenceMode::kDeclared ? report.against_declared : report.against_ideal;
    for (const Trace& trace : traces) {
      if (Clock::now() > end) {
        report.notes.push_back(
            fmt::format("{} was not run on every sample: {} s were over", reference.name(), options.seconds));
        break;
      }
      keep_worst(worst, reference.run(used.at(trace.sample).inputs, {}), trace);
    }
  }
  return report;
}

}  // namespace vernier
