// Drawing the elements of one random tensor. Internal to the room.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "vernier/data/random/random_inputs.h"
#include "vernier/data/random/value_rule.h"

namespace vernier {

// Random numbers that are the same on every machine and with every standard library (whose distributions are
// not).

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

struct DrawnTensor {
  Tensor tensor;
  std::string text;  // "i64 in [0, 30521]: indices of Gather 'embed'"
};

// `range`, where given, overrules what the graph suggests. Throws usage_error for a range that the type does
// not have.
DrawnTensor draw_tensor(const ValueRule& rule, ElementType type, const Dims& dims,
                        const SymbolValues& symbols, const std::optional<ValueRange>& range,
                        RandomStream& stream);

}  // namespace vernier
