#include "vernier/calibrate/method_trials.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/engine/session.h"

namespace vernier {

namespace {

constexpr RangeMethod kAll[] = {RangeMethod::kMinMax, RangeMethod::kEntropy, RangeMethod::kPercentile,
                                RangeMethod::kMse};

using Outputs = std::vector<NamedData>;  // of each sample

Outputs outputs_by(const Model& model, const PrecisionOptions& precision,
                   const std::map<uint64_t, NamedData>& samples) {
  BuildOptions options;
  options.deterministic = true;
  options.precision = precision;
  options.precision.constraints = PrecisionConstraints::kNone;
  Session session(Engine::build(model, options));
  Outputs outputs;
  for (const auto& [hash, inputs] : samples) outputs.push_back(session.run(inputs));
  return outputs;
}

// Plans take ranges from files.
std::string scales_text(const Scales& scales) {
  nlohmann::ordered_json root = {{"tensors", nlohmann::ordered_json::object()}};
  for (const auto& [name, entry] : scales)
    root["tensors"][name] = {{"type", element_type_short_name(entry.type)},
                             {"scale", entry.scale},
                             {"zero_point", entry.zero_point}};
  return root.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

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

bool has_float_output(const Model& model) {
  const auto& outputs = model.graph->outputs;
  return std::any_of(outputs.begin(), outputs.end(), [](const Value* output) {
    return output->type.is_tensor() && is_float(output->type.tensor.element);
  });
}

// The geometric mean over the outputs: by how many times the error of one changes counts, however large it
// is.
double distance(const Outputs& actual, const Outputs& exact) {
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

void MethodTrials::offer(uint64_t hash, const NamedData& inputs) {
  kept_.emplace(hash, inputs);
  if (kept_.size() > kSamples) kept_.erase(std::prev(kept_.end()));
}

std::vector<MethodTrial> MethodTrials::run(const std::function<Scales(RangeMethod)>& scales_by) const {
  if (!has_float_output(model_)) return {};
  const TemporaryFolder folder;
  const Outputs exact = outputs_by(model_, {}, kept_);
  std::vector<MethodTrial> trials;
  for (const RangeMethod method : kAll) {
    PrecisionOptions precision;
    precision.int8 = true;
    precision.calibration = folder.path() / "scales.json";
    write_file(precision.calibration, scales_text(scales_by(method)));
    trials.push_back({method, distance(outputs_by(model_, precision, kept_), exact)});
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const MethodTrial& a, const MethodTrial& b) { return a.error < b.error; });
  return trials;
}

}  // namespace vernier
