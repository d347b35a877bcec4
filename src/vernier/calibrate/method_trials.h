// What each method costs the outputs of a model: engines of int8 are built by its ranges, and compared with
// the one of floats.
#pragma once

#include <functional>

#include "vernier/calibrate/range_method.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct MethodTrial {
  RangeMethod method = RangeMethod::kEntropy;
  double error =
      0;  // relative L2 over the samples that were kept, the geometric mean of the outputs of floats
};

class MethodTrials {
 public:
  // `model` outlives this.
  explicit MethodTrials(const Model& model) : model_(model) {}

  // Keeps the sample, unless kSamples of a lesser hash are kept: which ones are does not depend on the order.
  void offer(uint64_t hash, const NamedData& inputs);
  // One trial for each method, the best first; of equal ones the order is that of RangeMethod. None where the
  // model has no output of floats. Throws what building and running engines throws.
  std::vector<MethodTrial> run(const std::function<Scales(RangeMethod)>& scales_by) const;

  static constexpr size_t kSamples = 16;

 private:
  const Model& model_;
  std::map<uint64_t, NamedData> kept_;
};

}  // namespace vernier
