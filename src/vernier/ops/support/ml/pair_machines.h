// The support vector machines of SVMClassifier: one for each pair of classes, (0, 1), (0, 2), …, (1, 2), …
#pragma once

#include <vector>

#include "vernier/ops/support/ml/svm_kernel.h"

namespace vernier::ops {

class PairMachines {
 public:
  // Throws bad_input for lists that do not fit together.
  PairMachines(const Node& node, int64_t classes, int64_t features);

  // One for each pair; a positive score is for the first class of the pair.
  std::vector<double> scores(const double* sample) const;
  // Gives each class a vote for every pair that it wins.
  std::vector<double> votes(const std::vector<double>& scores) const;
  bool has_probabilities() const { return !prob_a_.empty(); }
  std::vector<double> probabilities(const std::vector<double>& scores) const;  // of the classes

 private:
  double sum_of(const std::vector<double>& kernels, size_t of, size_t against) const;

  size_t classes_, features_;
  SvmKernel kernel_;
  std::vector<size_t> first_{0};  // support vector of each class, and their number at the end
  std::vector<float> vectors_, coefficients_, rho_, prob_a_, prob_b_;
};

}  // namespace vernier::ops
