#include "vernier/calibrate/tensor_statistics.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/error.h"

namespace vernier {

void require_finite(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  const auto is_wrong = [](float value) { return !std::isfinite(value); };
  const auto first = std::find_if(values.begin(), values.end(), is_wrong);
  if (first == values.end()) return;
  throw bad_input("holds {} at element {}, and {} of its {} values are not finite",
                  std::isnan(*first) ? "NaN" : "an infinity", first - values.begin(),
                  std::count_if(first, values.end(), is_wrong), values.size());
}

void TensorStatistics::add(const Tensor& tensor, bool held_out) {
  const auto values = tensor.values<float>();
  if (values.empty()) return;
  if (!(held_out ? held_out_ : kept_).add(values)) require_finite(tensor);
  watch_constancy(values);
  if (has_channels_) watch_channels(tensor);
}

void TensorStatistics::watch_constancy(std::span<const float> values) {
  if (!constant_) return;
  if (!first_) first_ = values[0];
  constant_ = std::all_of(values.begin(), values.end(), [&](float value) { return value == *first_; });
}

void TensorStatistics::watch_channels(const Tensor& tensor) {
  if (tensor.rank() < 2) return;
  const auto values = tensor.values<float>();
  const auto batch = static_cast<size_t>(tensor.dims()[0]), channels = static_cast<size_t>(tensor.dims()[1]);
  const size_t inner = values.size() / (batch * channels);
  alive_.resize(std::max(alive_.size(), channels));
  for (size_t i = 0; i < batch * channels; ++i) {
    char& alive = alive_[i % channels];
    if (alive != 0) continue;  // after the first samples most are
    const auto part = values.subspan(i * inner, inner);
    alive = static_cast<char>(std::any_of(part.begin(), part.end(), [](float value) { return value != 0; }));
  }
}

int64_t TensorStatistics::dead_channels() const {
  return std::count(alive_.begin(), alive_.end(), 0);
}

RangeHistogram TensorStatistics::all() const {
  RangeHistogram both = kept_;
  both.merge(held_out_);
  return both;
}

}  // namespace vernier
