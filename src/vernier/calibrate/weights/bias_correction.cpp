#include "vernier/calibrate/weights/bias_correction.h"

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

std::vector<double> means(const std::vector<float>& patches, size_t depth) {
  std::vector<double> sums(depth);
  for (size_t i = 0; i < patches.size(); ++i) sums[i % depth] += static_cast<double>(patches[i]);
  const size_t rows = patches.size() / depth;
  for (double& sum : sums) sum /= static_cast<double>(rows);
  return sums;
}

}  // namespace

std::optional<double> correct_bias(const LayerWeights& exact, LayerWeights& quantised,
                                   const InputPatches& patches, const std::optional<ScaleEntry>& entry) {
  if (quantised.bias.empty() || patches.count() == 0) return std::nullopt;
  double largest = 0;
  const size_t in_group = exact.outputs / exact.groups;
  for (size_t group = 0; group < exact.groups; ++group) {
    const GroupPatches both = group_patches(patches, group, entry);
    const auto mean = means(both.exact, exact.depth), coded_mean = means(both.coded, exact.depth);
    for (size_t output = group * in_group; output < (group + 1) * in_group; ++output) {
      const double scale = row_scale(quantised, output);
      double lack = 0;
      for (size_t k = 0; k < exact.depth; ++k) {
        const double coded = std::nearbyint(quantised.row(output)[k] / scale) * scale;
        lack += exact.row(output)[k] * mean[k] - coded * coded_mean[k];
      }
      quantised.bias[output] += lack;
      largest = std::max(largest, std::abs(lack));
    }
  }
  return largest;
}

}  // namespace vernier
