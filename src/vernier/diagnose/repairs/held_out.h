// Samples on which repairs are verified: other ones than those that they are chosen on.
#pragma once

#include "vernier/data/data_source.h"

namespace vernier {

struct HeldOut {
  std::vector<Sample> samples;
  std::string origin;  // for people: "3 other samples", "2 variations of sample 0"
};

// The samples beside `chosen`, at most four of them; where there are fewer than two, random ones of another
// seed that `drawn` gives, or else variations of the chosen one, so that what is special about it stays.
HeldOut held_out_samples(const std::vector<Sample>& kept, size_t chosen, DataSource* drawn, uint64_t seed);

// The sample with every number moved by up to two percent; tensors of whole numbers stay.
Sample variation(const Sample& sample, uint64_t seed);

}  // namespace vernier
