// Samples that a test has made itself.
#pragma once

#include "vernier/data/data_source.h"

namespace vernier {

class GivenSamples : public DataSource {
 public:
  explicit GivenSamples(std::vector<NamedData> samples) : samples_(std::move(samples)) {}
  std::optional<Sample> next() override {
    if (at_ == samples_.size()) return std::nullopt;
    Sample sample;
    sample.origin = fmt::format("sample {}", at_);
    sample.inputs = samples_[at_++];
    return sample;
  }

 private:
  std::vector<NamedData> samples_;
  size_t at_ = 0;
};

}  // namespace vernier
