// Measures what simulated results of a member leave of the error of its flagged node.
#pragma once

#include <optional>

#include "vernier/diagnose/causes/reproduction.h"
#include "vernier/diagnose/hypotheses/extent.h"

namespace vernier {

class CauseTrial {
 public:
  // Both outlive this.
  CauseTrial(const FlaggedNode& flagged, const Members& members);

  // Seconds that a simulation may take.
  double patience() const { return patience_; }
  // Gives what the flagged node makes if the member makes these results.
  Tensors simulated(size_t member, const Tensors& results) const {
    return members_.results_with(member, results);
  }
  // The same where the error reaches a part alone: what is right stays right, and `which` says where the part
  // is. Nothing where it is no part, or of so few numbers that many causes would fit.
  std::optional<Tensors> in_part(Tensors simulated, CausePart& where) const;
  // Sets what is left of the error if it makes that.
  void judge(const Tensors& simulated, Simulated& cause) const;

 private:
  // Marks the elements that differ from what is right by more than rounding.
  std::vector<bool> wrong_elements(size_t output, const std::vector<double>& values,
                                   const std::vector<double>& sound) const;
  bool keep_right(size_t output, Tensor& simulated, std::optional<CausePart>& where) const;

  const FlaggedNode& flagged_;
  const Members& members_;
  Tensors sound_;
  std::vector<std::vector<double>> allowed_;
  double error_ = 0;  // of what the engine made
  bool may_be_part_ = false;
  double patience_ = 0;
};

}  // namespace vernier
