#include "vernier/ops/support/ml/pair_machines.h"

#include "vernier/base/error.h"
#include "vernier/ops/support/ml/pairwise_coupling.h"
#include "vernier/ops/support/nn/sigmoid.h"

namespace vernier::ops {

namespace {

std::vector<float> floats_of(const Node& node, std::string_view name) {
  return node.attribute<std::vector<float>>(name, {});
}

}  // namespace

PairMachines::PairMachines(const Node& node, int64_t classes, int64_t features)
    : classes_(static_cast<size_t>(classes)),
      features_(static_cast<size_t>(features)),
      kernel_(svm_kernel_of(node)),
      vectors_(floats_of(node, "support_vectors")),
      coefficients_(floats_of(node, "coefficients")),
      rho_(floats_of(node, "rho")),
      prob_a_(floats_of(node, "prob_a")),
      prob_b_(floats_of(node, "prob_b")) {
  const auto sizes = node.attribute<std::vector<int64_t>>("vectors_per_class", {});
  if (classes_ < 2 || sizes.size() != classes_)
    throw bad_input("vectors_per_class has {} entries for {} classes", sizes.size(), classes);
  size_t unplaced = vectors_.size();
  for (const int64_t size : sizes) {
    if (size < 0 || static_cast<size_t>(size) > unplaced)
      throw bad_input("a class cannot have {} support vectors", size);
    unplaced -= static_cast<size_t>(size);
    first_.push_back(first_.back() + static_cast<size_t>(size));
  }
  const size_t count = first_.back(), pairs = classes_ * (classes_ - 1) / 2;
  if (vectors_.size() != count * features_ || coefficients_.size() != (classes_ - 1) * count) {
    throw bad_input(
        "{} coefficients and {} numbers in {} support vectors do not fit {} classes of {} features",
        coefficients_.size(), vectors_.size(), count, classes, features);
  }
  if (rho_.size() != pairs || prob_a_.size() != prob_b_.size() ||
      (has_probabilities() && prob_a_.size() != pairs)) {
    throw bad_input("{} rho, {} prob_a and {} prob_b for {} pairs of classes", rho_.size(), prob_a_.size(),
                    prob_b_.size(), pairs);
  }
}

// The coefficients are [classes - 1, vectors]: a vector has one for each class but its own.
double PairMachines::sum_of(const std::vector<double>& kernels, size_t of, size_t against) const {
  const float* row = coefficients_.data() + (against > of ? against - 1 : against) * kernels.size();
  double sum = 0;
  for (size_t at = first_[of]; at < first_[of + 1]; ++at) sum += row[at] * kernels[at];
  return sum;
}

std::vector<double> PairMachines::scores(const double* sample) const {
  std::vector<double> kernels(first_.back()), scores;
  for (size_t at = 0; at < kernels.size(); ++at)
    kernels[at] = kernel_(sample, vectors_.data() + at * features_, static_cast<int64_t>(features_));
  for (size_t i = 0; i < classes_; ++i) {
    for (size_t j = i + 1; j < classes_; ++j)
      scores.push_back(sum_of(kernels, i, j) + sum_of(kernels, j, i) + rho_[scores.size()]);
  }
  return scores;
}

std::vector<double> PairMachines::votes(const std::vector<double>& scores) const {
  std::vector<double> votes(classes_);
  for (size_t i = 0, pair = 0; i < classes_; ++i) {
    for (size_t j = i + 1; j < classes_; ++j) ++votes[scores[pair++] > 0 ? i : j];
  }
  return votes;
}

std::vector<double> PairMachines::probabilities(const std::vector<double>& scores) const {
  constexpr double kNever = 1e-7;
  std::vector<double> of_pairs(classes_ * classes_);
  for (size_t i = 0, pair = 0; i < classes_; ++i) {
    for (size_t j = i + 1; j < classes_; ++j, ++pair) {
      const double p =
          std::clamp(sigmoid(-(scores[pair] * prob_a_[pair] + prob_b_[pair])), kNever, 1 - kNever);
      of_pairs[i * classes_ + j] = p;
      of_pairs[j * classes_ + i] = 1 - p;
    }
  }
  return couple_pairs(of_pairs, classes_);
}

}  // namespace vernier::ops
