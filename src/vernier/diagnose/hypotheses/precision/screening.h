// Whether a cause can be the one, by some of the elements: simulating it on all of a large node takes long.
#pragma once

#include <functional>
#include <map>

#include "vernier/diagnose/hypotheses/precision/partial_sums.h"
#include "vernier/diagnose/hypotheses/precision/precision_loss.h"

namespace vernier {

class Screening {
 public:
  using Operands = PartialSums::Operands;

  // `made` is the result of the member in the engine. All outlive this.
  Screening(const PartialSums& sums, const Member& member, const Tensor& made);

  // The share of the error that is left where an element comes out as this function says.
  double residual(const std::function<double(int64_t element)>& simulated) const;
  double residual(const Accumulator& accumulator) const;
  // With exact sums.
  double residual(const PrecisionLoss& loss) const;
  // With exact sums of operands 0 to 2 that are other numbers.
  double residual(const Operands& operands) const;

 private:
  double between(double a, double b) const;

  const std::vector<double>& rounded(size_t operand, const NarrowFormat& format) const;

  const PartialSums& sums_;
  const Member& member_;
  // Keeps what was rounded before, by operand and format: sets of operands share them.
  mutable std::map<std::pair<size_t, std::string>, std::vector<double>> rounded_;
  std::vector<double> right_, made_;
  std::vector<int64_t> places_;
  double most_ = 0;
};

}  // namespace vernier
