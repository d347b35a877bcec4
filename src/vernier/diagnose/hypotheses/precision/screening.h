// Whether a cause can be the one, by some of the elements: simulating it on all of a large node takes long.
#pragma once

#include <functional>

#include "vernier/diagnose/hypotheses/precision/partial_sums.h"
#include "vernier/diagnose/hypotheses/precision/precision_loss.h"

namespace vernier {

class Screening {
 public:
  // `made` is the result of the member in the engine. All outlive this.
  Screening(const PartialSums& sums, const Member& member, const Tensor& made);

  // The share of the error that is left where an element comes out as this function says.
  double residual(const std::function<double(int64_t element)>& simulated) const;
  double residual(const Accumulator& accumulator) const;
  // With exact sums.
  double residual(const PrecisionLoss& loss) const;

 private:
  double between(double a, double b) const;

  const PartialSums& sums_;
  const Member& member_;
  std::vector<double> right_, made_;
  std::vector<int64_t> places_;
  double most_ = 0;
};

}  // namespace vernier
