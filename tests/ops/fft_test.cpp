// The Fourier transform against its definition, at lengths of every kind.
#include "vernier/ops/support/signal/fft.h"

#include <gtest/gtest.h>

#include <numbers>

namespace vernier::ops {
namespace {

using Complex = std::complex<double>;

std::vector<Complex> signal_of(int64_t length) {
  std::vector<Complex> signal;
  for (int64_t i = 0; i < length; ++i)
    signal.emplace_back(std::sin(static_cast<double>(3 * i + 1)), std::cos(static_cast<double>(i * i % 17)));
  return signal;
}

std::vector<Complex> by_definition(const std::vector<Complex>& signal) {
  const size_t n = signal.size();
  std::vector<Complex> spectrum(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t t = 0; t < n; ++t) {
      spectrum[k] += signal[t] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * t % n) /
                                                     static_cast<double>(n));
    }
  }
  return spectrum;
}

double distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Fft, FollowsItsDefinition) {
  for (const int64_t length : {1, 2, 3, 7, 16, 30, 61, 67, 97, 128, 134, 211, 997}) {
    const auto signal = signal_of(length);
    auto transformed = signal;
    Fft fft(length);
    fft.forward(transformed);
    EXPECT_LT(distance(transformed, by_definition(signal)), 1e-13 * static_cast<double>(length)) << length;
    fft.inverse(transformed);
    EXPECT_LT(distance(transformed, signal), 1e-13) << length;
  }
}

}  // namespace
}  // namespace vernier::ops
