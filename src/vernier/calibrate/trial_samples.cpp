#include "vernier/calibrate/trial_samples.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/file.h"
#include "vernier/calibrate/calibrate.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {

namespace {

struct SquareSums {
  double error = 0, expected = 0;

  void add(const Tensor& actual, const Tensor& exact) {
    const auto one = actual.to_doubles(), other = exact.to_doubles();
    // Sizes that depend on what is computed may differ: then nothing of the output is right.
    const bool same = actual.dims() == exact.dims();
    for (size_t i = 0; i < other.size(); ++i) {
      if (!std::isfinite(other[i])) continue;
      const double difference = same ? one[i] - other[i] : other[i];
      error += difference * difference;
      expected += other[i] * other[i];
    }
  }
  double relative() const {
    if (error == 0) return 0;
    return std::isfinite(error) && expected > 0 ? std::sqrt(error / expected) : HUGE_VAL;
  }
};

// The geometric mean over the outputs: by how many times the error of one changes counts, however large it
// is.
double distance(const TrialSamples::Outputs& actual, const TrialSamples::Outputs& exact) {
  std::map<std::string, SquareSums> sums;
  for (size_t i = 0; i < exact.size(); ++i) {
    for (const auto& [name, datum] : exact[i]) {
      if (datum.is_tensor() && is_float(datum.tensor.type()))
        sums[name].add(actual[i].at(name).as_tensor(), datum.tensor);
    }
  }
  constexpr double kExact = 1e-12;
  double logarithms = 0;
  for (const auto& [name, each] : sums) logarithms += std::log(std::max(each.relative(), kExact));
  return std::exp(logarithms / static_cast<double>(std::max<size_t>(sums.size(), 1)));
}

}  // namespace

bool has_float_output(const Model& model) {
  const auto& outputs = model.graph->outputs;
  return std::any_of(outputs.begin(), outputs.end(), [](const Value* output) {
    return output->type.is_tensor() && is_float(output->type.tensor.element);
  });
}

void TrialSamples::offer(uint64_t hash, const NamedData& inputs) {
  kept_.emplace(hash, inputs);
  if (kept_.size() > kMost) kept_.erase(std::prev(kept_.end()));
}

TrialSamples::Outputs TrialSamples::outputs_by(const Model& model, const PrecisionOptions& precision) const {
  BuildOptions options;
  options.deterministic = true;
  options.precision = precision;
  options.precision.constraints = PrecisionConstraints::kNone;
  Session session(compile(model, options));
  Outputs outputs;
  for (const auto& [hash, inputs] : kept_) outputs.push_back(session.run(inputs));
  return outputs;
}

TrialSamples::Outputs TrialSamples::float_outputs(const Model& model) const {
  return outputs_by(model, {});
}

double TrialSamples::int8_error(const Model& model, const Scales& scales, const Outputs& exact) const {
  const TemporaryFolder folder;  // plans take ranges from files
  PrecisionOptions precision;
  precision.int8 = true;
  precision.calibration = folder.path() / "scales.json";
  write_file(precision.calibration, scales_json(scales));
  return distance(outputs_by(model, precision), exact);
}

std::vector<MethodTrial> try_methods(const Model& model, const TrialSamples& samples,
                                     const std::function<Scales(RangeMethod)>& scales_by) {
  if (!has_float_output(model)) return {};
  const auto exact = samples.float_outputs(model);
  std::vector<MethodTrial> trials;
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kEntropy, RangeMethod::kPercentile, RangeMethod::kMse})
    trials.push_back({method, samples.int8_error(model, scales_by(method), exact)});
  std::stable_sort(trials.begin(), trials.end(),
                   [](const MethodTrial& a, const MethodTrial& b) { return a.error < b.error; });
  return trials;
}

}  // namespace vernier
