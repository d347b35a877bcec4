#include "vernier/diagnose/repairs/yardstick.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "vernier/diagnose/bounds/promised_bounds.h"
#include "vernier/run/comparison_run.h"

namespace vernier {

namespace {

class Given : public DataSource {
 public:
  Given(const std::vector<Sample>& samples, size_t times)
      : samples_(samples), left_(times * samples.size()) {}
  std::optional<Sample> next() override {
    if (left_ == 0) return std::nullopt;
    return samples_[samples_.size() - 1 - --left_ % samples_.size()];
  }

 private:
  const std::vector<Sample>& samples_;
  size_t left_;
};

bool are_the_same(const NamedData& a, const NamedData& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && x.second.is_tensor() && y.second.is_tensor() &&
                  x.second.tensor.identity() == y.second.tensor.identity();
         });
}

double error_of(const TensorComparison& tensor) {
  const Metrics& metrics = tensor.metrics;
  if (metrics.nan_mismatches > 0 || metrics.inf_mismatches > 0) return HUGE_VAL;
  if (metrics.distances && !std::isnan(metrics.distances->relative_l2)) return metrics.distances->relative_l2;
  if (metrics.elements == 0) return tensor.verdict == Verdict::kFail ? HUGE_VAL : 0;
  return static_cast<double>(metrics.mismatching) / static_cast<double>(metrics.elements);
}

}  // namespace

// What is right of a sample is computed once, however many engines are measured by it.
class Yardstick::Remembered : public Runner {
 public:
  explicit Remembered(Runner& runner) : runner_(runner) {}

  const std::string& name() const override { return runner_.name(); }
  std::map<std::string, std::string> description() override { return runner_.description(); }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    for (const Known& each : known_) {
      if (each.taps == taps && are_the_same(each.inputs, inputs)) return each.trace;
    }
    Trace trace = runner_.run(inputs, taps);
    known_.push_back({inputs, taps, trace});
    return trace;
  }
  std::optional<Trace> run_with_noise(const NamedData& inputs, const std::vector<std::string>& taps,
                                      uint64_t seed) override {
    return runner_.run_with_noise(inputs, taps, seed);
  }
  std::optional<Trace> run_with_values(const NamedData& inputs, const std::vector<std::string>& taps,
                                       const NamedData& values, std::optional<uint64_t> noise_seed) override {
    return runner_.run_with_values(inputs, taps, values, noise_seed);
  }
  std::string random_generator() const override { return runner_.random_generator(); }

 private:
  struct Known {
    NamedData inputs;
    std::vector<std::string> taps;
    Trace trace;
  };

  Runner& runner_;
  std::vector<Known> known_;
};

Yardstick::Yardstick(const Model& model, Runner& against, CompareOptions options, std::vector<Sample> samples,
                     Stopwatch& watch)
    : model_(model),
      against_(std::make_unique<Remembered>(against)),
      options_(std::move(options)),
      samples_(std::move(samples)),
      watch_(watch) {}

Yardstick::~Yardstick() = default;

Measured Yardstick::measure(Runner& runner, size_t times) {
  ComparisonJob job;
  job.runners = {against_.get(), &runner};
  job.compare = options_;
  job.model = &model_;
  job.derive_bounds = [](Runner& made, const NamedData& inputs) { return promised_bounds(made, inputs, 1); };
  Given data(samples_, times);
  const auto runs = static_cast<int64_t>(times * samples_.size());
  const auto outcome = watch_.time("repairs", runs, [&] { return run_and_compare(job, data); });
  Measured measured;
  if (!outcome.failures.empty()) {
    measured.trouble = outcome.failures.front();
    measured.relative_l2 = HUGE_VAL;
    return measured;
  }
  const ComparisonResult& result = outcome.comparisons.at(0);
  for (const TensorComparison& tensor : result.tensors)
    measured.relative_l2 = std::max(measured.relative_l2, error_of(tensor));
  measured.passes = result.verdict == Verdict::kPass;
  return measured;
}

std::optional<double> cost_percent(Runner& before, Runner& after, const NamedData& inputs, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kRounds = 9;
  const auto begin = Clock::now();
  const auto past = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto time_of = [&](Runner& runner) {
    try {
      return runner.time(inputs, 1).at(0);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
    }
    const auto start = Clock::now();
    runner.run(inputs, {});
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> ratios;
  try {
    time_of(before), time_of(after);  // what comes first is slower
    while (ratios.size() < kRounds && (ratios.empty() || past() < seconds)) {
      const double first = time_of(before), second = time_of(after);
      ratios.push_back(second / first);
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto middle = ratios.begin() + static_cast<ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return 100 * (*middle - 1);
}

}  // namespace vernier
