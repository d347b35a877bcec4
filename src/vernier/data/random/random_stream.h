// Random numbers that are the same on every machine and with every standard library (whose distributions are
// not).
#pragma once

#include <cmath>
#include <cstdint>

namespace vernier {

// SplitMix64 (Steele, Lea, Flood 2014).
class RandomStream {
 public:
  explicit RandomStream(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  // In [low, high); one rounding, so that compilers cannot differ in fusing.
  double real(double low, double high) {
    return std::fma(static_cast<double>(bits() >> 11) * 0x1p-53, high - low, low);
  }
  // In [low, high], both included; the bias is below 2^-64 times the width.
  int64_t integer(int64_t low, int64_t high) {
    const auto width = static_cast<unsigned __int128>(static_cast<__int128>(high) - low + 1);
    return static_cast<int64_t>(low + static_cast<__int128>(bits() * width >> 64));
  }

 private:
  uint64_t state_;
};

}  // namespace vernier
