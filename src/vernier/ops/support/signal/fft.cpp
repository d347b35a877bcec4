#include "vernier/ops/support/signal/fft.h"

#include <numbers>
#include <unsupported/Eigen/FFT>

namespace vernier::ops {

namespace {

using Complex = std::complex<double>;

// The library takes O(n * p) for a prime factor p of the length, so beyond this one Bluestein's way is
// faster.
constexpr int64_t kLargestFactor = 64;

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) largest = p;
  }
  return std::max(largest, n);
}

}  // namespace

struct Fft::Plan {
  int64_t length = 0, padded = 0;  // padded: 0 where the library takes the length itself
  Eigen::FFT<double> library;
  std::vector<Complex> chirp, chirp_spectrum, work, spectrum;

  explicit Plan(int64_t n);
  void bluestein(std::span<Complex> signal);
  void forward(std::span<Complex> signal);
};

// Bluestein: k * t = (k^2 + t^2 - (k - t)^2) / 2 makes the transform a convolution with a chirp, which
// transforms of a power of two compute.
Fft::Plan::Plan(int64_t n) : length(n) {
  if (largest_prime_factor(n) <= kLargestFactor) return;
  padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  const auto size = static_cast<size_t>(padded);
  chirp.resize(static_cast<size_t>(n));
  std::vector<Complex> kernel(size);
  for (int64_t k = 0; k < n; ++k) {
    // k^2 modulo 2n keeps the angle exact for long transforms.
    const auto square =
        static_cast<int64_t>(static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k) %
                             static_cast<unsigned __int128>(2 * n));
    const Complex turn =
        std::polar(1.0, std::numbers::pi * static_cast<double>(square) / static_cast<double>(n));
    chirp[static_cast<size_t>(k)] = std::conj(turn);
    kernel[static_cast<size_t>(k)] = turn;
    if (k > 0) kernel[static_cast<size_t>(padded - k)] = turn;
  }
  chirp_spectrum.resize(size);
  library.fwd(chirp_spectrum.data(), kernel.data(), static_cast<int>(padded));
  work.resize(size);
  spectrum.resize(size);
}

void Fft::Plan::bluestein(std::span<Complex> signal) {
  std::fill(work.begin(), work.end(), Complex());
  for (size_t i = 0; i < signal.size(); ++i) work[i] = signal[i] * chirp[i];
  library.fwd(spectrum.data(), work.data(), static_cast<int>(padded));
  for (size_t i = 0; i < spectrum.size(); ++i) spectrum[i] *= chirp_spectrum[i];
  library.inv(work.data(), spectrum.data(), static_cast<int>(padded));
  for (size_t i = 0; i < signal.size(); ++i) signal[i] = work[i] * chirp[i];
}

void Fft::Plan::forward(std::span<Complex> signal) {
  if (length == 1) return;
  if (padded != 0) return bluestein(signal);
  work.assign(signal.begin(), signal.end());
  library.fwd(signal.data(), work.data(), static_cast<int>(length));
}

Fft::Fft(int64_t length) : plan_(std::make_unique<Plan>(length)) {}
Fft::~Fft() = default;
Fft::Fft(Fft&&) noexcept = default;

void Fft::forward(std::span<Complex> signal) {
  plan_->forward(signal);
}

void Fft::inverse(std::span<Complex> signal) {
  for (Complex& value : signal) value = std::conj(value);
  plan_->forward(signal);
  for (Complex& value : signal) value = std::conj(value) / static_cast<double>(plan_->length);
}

}  // namespace vernier::ops
