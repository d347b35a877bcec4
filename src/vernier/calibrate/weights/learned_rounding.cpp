#include "vernier/calibrate/weights/learned_rounding.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "vernier/base/threads.h"

namespace vernier {

namespace {

constexpr double kInt8Max = 127;
constexpr int kSweeps = 8;
// This share of the mean of H's diagonal is added, because few patches tell nothing of directions that none
// of them has.
constexpr double kDamping = 0.01;

void subtract_mean(std::vector<float>& patches, size_t depth) {
  const size_t count = patches.size() / depth;
  for (size_t k = 0; k < depth; ++k) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += static_cast<double>(patches[i * depth + k]);
    const auto mean = static_cast<float>(sum / static_cast<double>(count));
    for (size_t i = 0; i < count; ++i) patches[i * depth + k] -= mean;
  }
}

// E[x x'] of the patches, damped: [depth, depth].
std::vector<float> second_moments(std::span<const float> patches, size_t depth) {
  const size_t count = patches.size() / depth;
  std::vector<float> moments(depth * depth);
  const float share = 1 / static_cast<float>(count);
  parallel_for(static_cast<int64_t>(depth), 8, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < count; ++i) {
      const float* patch = patches.data() + i * depth;
      for (auto row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
        const float factor = patch[row] * share;
        if (factor == 0) continue;  // behind ReLU half of them are
        float* to = moments.data() + row * depth;
        for (size_t k = 0; k < depth; ++k) to[k] += factor * patch[k];
      }
    }
  });
  double trace = 0;
  for (size_t k = 0; k < depth; ++k) trace += static_cast<double>(moments[k * depth + k]);
  const auto damping = static_cast<float>(kDamping * trace / static_cast<double>(depth));
  for (size_t k = 0; k < depth; ++k) moments[k * depth + k] += damping;
  return moments;
}

// The codes of one row of weights, and how far each is from its weight, in codes.
class Row {
 public:
  Row(const double* weights, size_t depth, double scale) : scale_(scale), codes_(depth), errors_(depth) {
    for (size_t k = 0; k < depth; ++k) {
      const double code = weights[k] / scale;
      codes_[k] = std::clamp(std::nearbyint(code), -kInt8Max, kInt8Max);
      errors_[k] = static_cast<float>(codes_[k] - code);
    }
  }

  // Flips weights one after the other while that makes e' H e less. Gives how many are flipped.
  size_t descend(const std::vector<float>& moments) {
    const size_t depth = codes_.size();
    std::vector<float> slope(depth);  // H e
    for (size_t k = 0; k < depth; ++k) add(slope, moments.data() + k * depth, errors_[k]);
    std::vector<char> flipped(depth);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      for (size_t k = 0; k < depth; ++k) {
        const float step = errors_[k] > 0 ? -1.0F : 1.0F;
        // The largest weight gives the row its scale, so it stays.
        if (std::abs(codes_[k]) == kInt8Max || std::abs(codes_[k] + static_cast<double>(step)) == kInt8Max)
          continue;
        const float* row = moments.data() + k * depth;
        if (!(2 * step * slope[k] + row[k] < 0)) continue;
        codes_[k] += static_cast<double>(step);
        errors_[k] += step;
        add(slope, row, step);
        flipped[k] = static_cast<char>(flipped[k] == 0);
        changed = true;
      }
      if (!changed) break;
    }
    return static_cast<size_t>(std::count(flipped.begin(), flipped.end(), 1));
  }

  // The mean square error of the sums on patches.
  double error_on(std::span<const float> patches) const {
    const size_t depth = codes_.size(), count = patches.size() / depth;
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      float product = 0;
      for (size_t k = 0; k < depth; ++k) product += patches[i * depth + k] * errors_[k];
      sum += static_cast<double>(product) * static_cast<double>(product);
    }
    return sum * scale_ * scale_ / static_cast<double>(std::max<size_t>(count, 1));
  }
  void write(double* weights) const {
    for (size_t k = 0; k < codes_.size(); ++k) weights[k] = codes_[k] * scale_;
  }

 private:
  static void add(std::vector<float>& to, const float* row, float factor) {
    if (factor == 0) return;
    for (size_t k = 0; k < to.size(); ++k) to[k] += factor * row[k];
  }

  double scale_;
  std::vector<double> codes_;
  std::vector<float> errors_;
};

}  // namespace

RoundingResult learn_rounding(LayerWeights& layer, const InputPatches& patches,
                              const std::optional<ScaleEntry>& entry, bool centred) {
  RoundingResult result;
  LayerWeights learnt = layer;
  const size_t in_group = layer.outputs / layer.groups;
  const size_t kept = patches.count() - patches.count() / 4;
  if (kept == patches.count()) return result;  // too few to hold any out
  for (size_t group = 0; group < layer.groups; ++group) {
    auto coded = group_patches(patches, group, entry).coded;
    if (centred) subtract_mean(coded, layer.depth);
    const std::span<const float> all(coded), held_out = all.subspan(kept * layer.depth);
    const auto moments = second_moments(all.first(kept * layer.depth), layer.depth);
    std::vector<RoundingResult> of_rows(in_group);
    parallel_for(static_cast<int64_t>(in_group), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const size_t output = group * in_group + i;
        Row row(layer.row(output), layer.depth, row_scale(layer, output));
        of_rows[i].nearest = row.error_on(held_out);
        of_rows[i].flipped = row.descend(moments);
        of_rows[i].learnt = row.error_on(held_out);
        row.write(learnt.row(output));
      }
    });
    for (const RoundingResult& each : of_rows) {
      result.flipped += each.flipped;
      result.nearest += each.nearest, result.learnt += each.learnt;
    }
  }
  if (result.learnt < result.nearest)
    layer.rows = std::move(learnt.rows);
  else
    result.flipped = 0, result.learnt = result.nearest;
  return result;
}

}  // namespace vernier
