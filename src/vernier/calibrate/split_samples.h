// Samples of many rows, run a few rows at a time.
#pragma once

#include <memory>

#include "vernier/data/data_source.h"

namespace vernier {

// Gives the samples of `data` in pieces of `rows` along the first axis of all inputs, the last of a sample
// with what is left. For models in which a row of that axis has nothing to do with the others. Throws
// bad_input where the inputs of a sample differ in that size, or have no axis.
class SplitSamples : public DataSource {
 public:
  SplitSamples(std::unique_ptr<DataSource> data, int64_t rows) : data_(std::move(data)), rows_(rows) {}
  std::optional<Sample> next() override;

 private:
  std::unique_ptr<DataSource> data_;
  int64_t rows_;
  std::optional<Sample> sample_;  // that pieces are taken from
  int64_t first_ = 0, all_ = 0;   // rows of it: the next one, and how many there are
};

}  // namespace vernier
