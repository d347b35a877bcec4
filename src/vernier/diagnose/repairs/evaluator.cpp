#include "vernier/diagnose/repairs/evaluator.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/compare/distance.h"
#include "vernier/data/random/random_values.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/exec/runner_decorator.h"
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

// Computes the right outputs of a sample once, however many engines are measured by it.
class Evaluator::Remembered : public RunnerDecorator {
 public:
  explicit Remembered(Runner& runner) : RunnerDecorator(runner) {}

  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    for (const Known& each : known_) {
      if (each.taps == taps && are_the_same(each.inputs, inputs)) return each.trace;
    }
    Trace trace = decorated().run(inputs, taps);
    known_.push_back({inputs, taps, trace});
    return trace;
  }
  Runner& original() override { return *this; }

 private:
  struct Known {
    NamedData inputs;
    std::vector<std::string> taps;
    Trace trace;
  };

  std::vector<Known> known_;
};

Evaluator::Evaluator(const Model& model, Runner& against, CompareOptions options, std::vector<Sample> samples,
                     Stopwatch& watch)
    : model_(model),
      against_(std::make_unique<Remembered>(against)),
      options_(std::move(options)),
      samples_(std::move(samples)),
      watch_(watch) {}

Evaluator::~Evaluator() = default;

Measured Evaluator::measure(Runner& runner, size_t times) {
  ComparisonJob job;
  job.runners = {against_.get(), &runner};
  job.compare = options_;
  job.model = &model_;
  job.derive_bounds = [](Runner& made, const NamedData& inputs, const std::set<std::string>& values) {
    return promised_bounds(made, inputs, 1, values);
  };
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

namespace {

constexpr size_t kFewest = 2, kMost = 4;

Tensor varied(const Tensor& tensor, RandomStream& random) {
  constexpr double kPart = 0.02;
  auto values = tensor.to_doubles();
  // Whole numbers are masks, counts and choices.
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == std::trunc(value); }))
    return tensor;
  for (double& value : values) value *= 1 + random.real(-kPart, kPart);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

}  // namespace

Sample variation(const Sample& sample, uint64_t seed) {
  Sample result{sample.origin + ", varied", sample.inputs, std::nullopt, {}};
  RandomStream random(seed);
  for (auto& [name, datum] : result.inputs) {
    if (datum.is_tensor() && is_float(datum.tensor.type())) datum.tensor = varied(datum.tensor, random);
  }
  return result;
}

HeldOut held_out_samples(const std::vector<Sample>& kept, size_t chosen, DataSource* drawn, uint64_t seed) {
  HeldOut result;
  for (size_t i = 0; i < kept.size() && result.samples.size() < kMost; ++i) {
    if (i != chosen) result.samples.push_back(kept[i]);
  }
  const size_t others = result.samples.size();
  if (others > 0) result.origin = fmt::format("{} other sample{}", others, others == 1 ? "" : "s");
  while (drawn != nullptr && result.samples.size() < kFewest) {
    auto sample = drawn->next();
    if (!sample) break;
    result.samples.push_back(std::move(*sample));
  }
  if (const size_t count = result.samples.size() - others; count > 0)
    result.origin += fmt::format("{}{} random sample{} of another seed", others > 0 ? ", " : "", count,
                                 count == 1 ? "" : "s");
  const size_t known = result.samples.size();
  while (result.samples.size() < kFewest)
    result.samples.push_back(variation(kept.at(chosen), seed + result.samples.size()));
  if (const size_t count = result.samples.size() - known; count > 0)
    result.origin += fmt::format("{}{} variation{} of the sample at hand", known > 0 ? ", " : "", count,
                                 count == 1 ? "" : "s");
  return result;
}

namespace {

bool is_number(ElementType type) {
  return type != ElementType::kString && type != ElementType::kComplex64 && type != ElementType::kComplex128;
}

double distance(const Datum& a, const Datum& b) {
  if (!a.is_tensor() || !b.is_tensor() || a.tensor.dims() != b.tensor.dims()) return HUGE_VAL;
  if (a.tensor.identical(b.tensor)) return 0;
  if (!is_number(a.tensor.type()) || !is_number(b.tensor.type()) || a.tensor.type() == ElementType::kBool)
    return HUGE_VAL;
  const Distances distances = distances_of(a.tensor, b.tensor);
  // NaN says that no element is finite on both sides, and nothing of whether they are alike.
  if (!std::isnan(distances.relative_l2)) return distances.relative_l2;
  const auto x = a.tensor.to_doubles(), y = b.tensor.to_doubles();
  const bool same = std::equal(x.begin(), x.end(), y.begin(), [](double left, double right) {
    return left == right || (std::isnan(left) && std::isnan(right));
  });
  return same ? 0 : HUGE_VAL;
}

double distance_on(const Model& model, const Model& rewritten, const NamedData& inputs, ReferenceMode mode) {
  InterpreterOptions options;
  options.mode = mode;
  const NamedData right = reference_outputs(*model.graph, inputs, options),
                  made = reference_outputs(*rewritten.graph, inputs, options);
  double farthest = 0;
  for (const auto& [name, datum] : right) {
    const auto found = made.find(name);
    farthest = std::max(farthest, found == made.end() ? HUGE_VAL : distance(datum, found->second));
  }
  return farthest;
}

}  // namespace

double distance_in_meaning(const Model& model, const Model& rewritten, const std::vector<Sample>& samples) {
  double farthest = 0;
  for (const Sample& sample : samples) {
    const double ideal = distance_on(model, rewritten, sample.inputs, ReferenceMode::kIdeal);
    constexpr double kExact = 1e-12;
    const double nearer =
        ideal <= kExact
            ? ideal
            : std::min(ideal, distance_on(model, rewritten, sample.inputs, ReferenceMode::kDeclared));
    farthest = std::max(farthest, nearer);
  }
  return farthest;
}

}  // namespace vernier
