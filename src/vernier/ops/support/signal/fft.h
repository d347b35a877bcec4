// Discrete Fourier transform of complex vectors of any length, in O(n log n), in double.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>

namespace vernier::ops {

// A transform of one length. Not for several threads at a time: each makes its own.
class Fft {
 public:
  explicit Fft(int64_t length);  // at least 1
  ~Fft();
  Fft(Fft&&) noexcept;
  // In place; `signal` has the length. The inverse is scaled by 1 / length.
  void forward(std::span<std::complex<double>> signal);
  void inverse(std::span<std::complex<double>> signal);

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace vernier::ops
