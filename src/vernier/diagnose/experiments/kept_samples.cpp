#include "vernier/diagnose/experiments/kept_samples.h"

#include <algorithm>

#include "vernier/diagnose/repeats/repeatability.h"

namespace vernier {

NamedData KeptSamples::other_inputs(size_t sample) const {
  const NamedData& own = kept_.at(sample).inputs;
  const auto alike = [&](const NamedData& other) {
    const bool fits = std::all_of(other.begin(), other.end(), [&](const auto& each) {
      const Datum& mine = own.at(each.first);
      return each.second.is_tensor() && mine.is_tensor() && each.second.tensor.dims() == mine.tensor.dims();
    });
    return fits && !differing_outputs(other, own).empty();
  };
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (i != sample && alike(kept_[i].inputs)) return kept_[i].inputs;
  }
  return reordered(own);
}

std::vector<NamedData> KeptSamples::beside(size_t sample) const {
  std::vector<NamedData> samples;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (i != sample) samples.push_back(kept_[i].inputs);
  }
  samples.push_back(kept_.at(sample).inputs);
  return samples;
}

}  // namespace vernier
