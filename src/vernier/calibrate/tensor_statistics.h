// Keeps statistics of a tensor over all samples. Internal to the room.
#pragma once

#include "vernier/calibrate/range_histogram.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Throws bad_input where a value is NaN or infinite; says which and how many.
void require_finite(const Tensor& tensor);

class TensorStatistics {
 public:
  explicit TensorStatistics(bool has_channels) : has_channels_(has_channels) {}

  // Takes a tensor of float. Held-out samples are counted separately. Throws as require_finite does.
  void add(const Tensor& tensor, bool held_out);

  const RangeHistogram& kept() const { return kept_; }
  const RangeHistogram& held_out() const { return held_out_; }
  RangeHistogram all() const;
  // Whether all values are the same.
  bool is_constant() const { return first_ && constant_; }
  int64_t channels() const { return static_cast<int64_t>(alive_.size()); }
  int64_t dead_channels() const;

 private:
  void watch_constancy(std::span<const float> values);
  void watch_channels(const Tensor& tensor);

  bool has_channels_, constant_ = true;
  RangeHistogram kept_, held_out_;
  std::optional<float> first_;
  std::vector<char> alive_;  // by channel: whether a value was not zero
};

}  // namespace vernier
