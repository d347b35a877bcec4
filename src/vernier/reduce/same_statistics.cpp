#include <algorithm>
#include <cmath>
#include <random>

#include "vernier/reduce/anonymise.h"

namespace vernier {

namespace {

struct Statistics {
  double low = 0, high = 0, mean = 0, deviation = 0;  // of finite elements other than zero
  double zeros = 0;                                   // part of all elements
  double count = 0;
};

Statistics statistics_of(std::span<const double> values) {
  Statistics found;
  double sum = 0, squares = 0, zeros = 0;
  for (const double value : values) {
    if (value == 0) ++zeros;
    if (value == 0 || !std::isfinite(value)) continue;
    found.low = found.count == 0 ? value : std::min(found.low, value);
    found.high = found.count == 0 ? value : std::max(found.high, value);
    ++found.count;
    sum += value;
    squares += value * value;
  }
  if (!values.empty()) found.zeros = zeros / static_cast<double>(values.size());
  if (found.count == 0) return found;
  found.mean = sum / found.count;
  found.deviation = std::sqrt(std::max(0.0, squares / found.count - found.mean * found.mean));
  return found;
}

// NaN and Inf stay where they are: they may be what goes wrong.
void redraw(std::span<double> values, std::mt19937_64& random) {
  const Statistics wanted = statistics_of(values);
  std::vector<double*> drawn;
  for (double& value : values) {
    if (!std::isfinite(value)) continue;
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    if (unit < wanted.zeros) {
      value = 0;
      continue;
    }
    std::normal_distribution<double> normal(wanted.mean, wanted.deviation > 0 ? wanted.deviation : 1e-300);
    value = std::clamp(normal(random), wanted.low, wanted.high);
    drawn.push_back(&value);
  }
  // The extremes are what ranges and overflows depend on.
  if (drawn.size() < 2) return;
  *drawn[random() % (drawn.size() / 2)] = wanted.high;
  *drawn[drawn.size() / 2 + random() % (drawn.size() - drawn.size() / 2)] = wanted.low;
}

}  // namespace

Tensor of_same_statistics(const Tensor& tensor, uint64_t seed) {
  std::vector<double> values = tensor.to_doubles();
  std::mt19937_64 random(seed);
  const size_t channels = tensor.rank() >= 2 ? static_cast<size_t>(tensor.dims()[0]) : 1;
  const size_t each = channels == 0 ? 0 : values.size() / channels;
  for (size_t c = 0; c < channels && each > 0; ++c) redraw(std::span(values).subspan(c * each, each), random);
  if (is_integer(tensor.type())) {
    for (double& value : values) value = std::round(value);
  }
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

}  // namespace vernier
