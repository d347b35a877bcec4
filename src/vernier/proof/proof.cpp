#include "vernier/proof/proof.h"

#include <chrono>
#include <cmath>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/run/comparison_run.h"
#include "vernier/run/measured_noise.h"

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

// By output, relative L2, the worst over the samples.
using WorstDistances = std::map<std::string, double>;

void keep_worst(WorstDistances& worst, const Trace& reference, const Trace& actual) {
  for (const auto& [value, distance] : noise_floor(reference, actual)) {
    double& kept = worst[value];
    kept = std::max(kept, distance.relative_l2);
  }
}

double distance_of(const std::string& output, const WorstDistances& distances) {
  const auto found = distances.find(output);
  return found == distances.end() ? std::nan("") : found->second;
}

// Concludes what the comparison of the engine with its promise says.
Certificate certificate_of(const ComparisonOutcome& outcome) {
  const ComparisonResult& found = outcome.comparisons.at(0);
  Certificate certificate{found.verdict, found.reasons, outcome.samples, outcome.failures, {}};
  for (const TensorComparison& tensor : found.tensors) {
    if (!tensor.is_output) continue;
    const double planned = tensor.metrics.distances ? tensor.metrics.distances->relative_l2 : std::nan("");
    certificate.outputs.push_back({tensor.value, planned, std::nan(""), std::nan("")});
    for (const std::string& reason : tensor.reasons)
      certificate.reasons.push_back(fmt::format("{}: {}", tensor.value, reason));
  }
  return certificate;
}

}  // namespace

std::vector<Sample> drawn_samples(const Model& model, const std::vector<ShapeProfile>& profiles,
                                  uint64_t seed) {
  RandomOptions options{seed, 1, {}, {}};
  if (!profiles.empty()) {
    InputShapes& shapes = options.shapes.emplace_back();
    for (const auto& [name, ranges] : profiles[0].inputs) {
      for (const DimRange& range : ranges) shapes[name].push_back(range.opt);
    }
  }
  std::vector<Sample> drawn;
  if (auto sample = RandomInputs(model, options).next()) drawn.push_back(std::move(*sample));
  return drawn;
}

Certificate prove(const std::shared_ptr<const Engine>& engine, const Model& model,
                  const std::vector<Sample>& samples, const ProofOptions& options) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options.seconds));
  const std::vector<Sample> drawn = samples.empty()
                                        ? drawn_samples(model, engine->options().profiles, options.seed)
                                        : std::vector<Sample>();
  const std::vector<Sample>& used = samples.empty() ? drawn : samples;
  EngineRunner actual(engine);
  PlannedRunner planned(engine, options.promised);
  std::vector<Trace> traces;
  ComparisonJob job;
  job.runners = {&planned, &actual};
  job.compare = options.compare;
  job.compare.random_data =
      std::all_of(used.begin(), used.end(), [](const Sample& sample) { return !sample.drawn.empty(); });
  job.model = &model;
  job.seed = options.seed;
  job.exceeded_bounds = exceeded_bounds(model, options.seed);
  if (options.provisional) {
    job.noise_runs = 1;
  } else {
    job.derive_bounds = [&](Runner& runner, const NamedData& inputs, const std::set<std::string>& values) {
      using Bounds = std::map<std::string, DerivedBound>;
      return Clock::now() > end ? Bounds() : promised_bounds(runner, inputs, options.seed, values);
    };
  }
  job.observe = [&](size_t runner, const NamedData&, const Trace& trace) {
    if (runner == 1) traces.push_back(trace);
  };
  GivenSamples source(used, end);
  Certificate certificate = certificate_of(run_and_compare(job, source));
  if (source.used() < used.size())
    certificate.notes.push_back(
        fmt::format("{} of {} samples were judged in {} s", source.used(), used.size(), options.seconds));
  if (!options.prices || (options.provisional && certificate.verdict == Verdict::kFail)) return certificate;
  const RunnerModel original{{}, &model};
  for (const auto mode : {ReferenceMode::kDeclared, ReferenceMode::kIdeal}) {
    ReferenceRunner reference(original, mode);
    WorstDistances worst;
    for (const Trace& trace : traces) {
      if (Clock::now() > end) {
        certificate.notes.push_back(
            fmt::format("{} was not run on every sample: {} s were over", reference.name(), options.seconds));
        break;
      }
      keep_worst(worst, reference.run(used.at(trace.sample).inputs, {}), trace);
    }
    for (Certificate::Output& output : certificate.outputs)
      (mode == ReferenceMode::kDeclared ? output.declared : output.ideal) = distance_of(output.name, worst);
  }
  return certificate;
}

}  // namespace vernier
