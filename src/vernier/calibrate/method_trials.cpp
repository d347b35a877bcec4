#include "vernier/calibrate/method_trials.h"

#include <algorithm>

namespace vernier {

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
