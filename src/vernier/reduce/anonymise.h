// Taking out of a case what tells whose model it is.
#pragma once

#include "vernier/reduce/shrinking.h"

namespace vernier {

struct Anonymisation {
  size_t tensors = 0;             // whose content was replaced
  bool names = false;             // nodes and values have plain names
  std::vector<std::string> kept;  // what could not be replaced, and why: sentences
};

// Replaces the content of constants and inputs by random numbers of the same statistics (mean, deviation,
// extremes and the part of zeros, for each index of the first axis of a matrix or a larger tensor), and names
// by plain ones, as far as the symptom stays.
Anonymisation anonymise(Shrinking& shrinking, uint64_t seed);

// Random content of the same statistics as a tensor of floats or integers.
Tensor of_same_statistics(const Tensor& tensor, uint64_t seed);

// All nodes, values and graphs renamed: "node_1", "input_1", "constant_1", "output_1", "value_1".
ReproCase with_plain_names(const ReproCase& original);

}  // namespace vernier
