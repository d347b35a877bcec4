// Probabilities of classes from those of each pair of classes.
#pragma once

#include <vector>

namespace vernier::ops {

// pairs[i * classes + j] is the probability of class i if it is i or j; the diagonal is not read. The second
// method of Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling"
// (2004), with the stopping rule of libsvm, by which engines agree: its error of up to 0.005 / classes is
// part of the answer.
std::vector<double> couple_pairs(const std::vector<double>& pairs, size_t classes);

}  // namespace vernier::ops
