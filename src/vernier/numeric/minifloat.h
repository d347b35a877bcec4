// Floating-point formats of 19 bits and fewer as value types: conversion to double is exact, conversion from
// double rounds once, to nearest even. Formats: IEEE 754 binary16, bfloat16, TF32, OCP FP8 (E4M3FN, E5M2),
// the FNUZ forms of FP8, OCP MX E8M0 and FP4 E2M1.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace vernier {

enum class Specials {
  kIeee,          // infinities and NaNs in the largest exponent
  kFiniteNan,     // "FN": no infinity, NaN is all ones
  kUnsignedZero,  // "FNUZ": no infinity, one zero; NaN is the bit pattern of minus zero
  kFinite,        // neither infinity nor NaN (FP4), so what overflows saturates
};

// Says what a finite value beyond the largest one becomes.
enum class Overflow { kToSpecial, kSaturate };

template <int ExponentBits, int MantissaBits, int Bias, Specials Kind, class Storage>
struct MiniFloat {
  static constexpr int kBits = 1 + ExponentBits + MantissaBits;
  static constexpr int kSignShift = ExponentBits + MantissaBits;
  static constexpr uint32_t kMagnitudeMask = (1u << kSignShift) - 1;
  static constexpr uint32_t kExponentMax = (1u << ExponentBits) - 1;
  static constexpr uint32_t kMantissaMask = (1u << MantissaBits) - 1;
  static constexpr uint32_t kInfinity = kExponentMax << MantissaBits;  // only where Kind == kIeee
  static constexpr uint32_t kNan = Kind == Specials::kIeee        ? kInfinity | (1u << (MantissaBits - 1))
                                   : Kind == Specials::kFiniteNan ? kMagnitudeMask
                                                                  : 1u << kSignShift;
  static constexpr uint32_t kLargest = Kind == Specials::kIeee        ? kInfinity - 1
                                       : Kind == Specials::kFiniteNan ? kMagnitudeMask - 1
                                                                      : kMagnitudeMask;

  Storage bits = 0;

  constexpr MiniFloat() = default;
  constexpr explicit MiniFloat(double value)
      : bits(static_cast<Storage>(encode(value, Overflow::kToSpecial))) {}

  static constexpr MiniFloat from_bits(uint32_t pattern) {
    MiniFloat result;
    result.bits = static_cast<Storage>(pattern);
    return result;
  }
  static constexpr MiniFloat saturated(double value) { return from_bits(encode(value, Overflow::kSaturate)); }

  constexpr explicit operator double() const {
    const uint32_t magnitude = bits & kMagnitudeMask;
    const uint64_t sign = static_cast<uint64_t>((bits >> kSignShift) & 1) << 63;
    if (is_nan()) return std::bit_cast<double>(0x7ff8000000000000ull | sign);
    if (Kind == Specials::kIeee && magnitude == kInfinity)
      return std::bit_cast<double>(0x7ff0000000000000ull | sign);
    const uint32_t exponent = magnitude >> MantissaBits;
    const uint64_t mantissa = magnitude & kMantissaMask;
    if (exponent != 0) {
      return std::bit_cast<double>(sign |
                                   (static_cast<uint64_t>(static_cast<int>(exponent) - Bias + 1023) << 52) |
                                   (mantissa << (52 - MantissaBits)));
    }
    const double unit = std::bit_cast<double>(static_cast<uint64_t>(1 - Bias - MantissaBits + 1023) << 52);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(static_cast<double>(mantissa) * unit) | sign);
  }

  constexpr bool is_nan() const {
    const uint32_t magnitude = bits & kMagnitudeMask;
    switch (Kind) {
      case Specials::kIeee: return magnitude > kInfinity;
      case Specials::kFiniteNan: return magnitude == kMagnitudeMask;
      case Specials::kUnsignedZero: return bits == kNan;
      case Specials::kFinite: return false;
    }
    return false;
  }
  constexpr bool is_infinite() const {
    return Kind == Specials::kIeee && (bits & kMagnitudeMask) == kInfinity;
  }

 private:
  static constexpr uint32_t encode(double value, Overflow overflow) {
    const uint64_t pattern = std::bit_cast<uint64_t>(value);
    const uint32_t sign = static_cast<uint32_t>(pattern >> 63) << kSignShift;
    const uint64_t magnitude = pattern & 0x7fffffffffffffffull;
    if (magnitude > 0x7ff0000000000000ull) {
      // FP4 has no NaN; ONNX's data has minus zero in its place.
      return Kind == Specials::kUnsignedZero || Kind == Specials::kFinite ? kNan : sign | kNan;
    }
    const bool infinite = magnitude == 0x7ff0000000000000ull;
    uint32_t result = infinite ? kMagnitudeMask + 1 : round_magnitude(magnitude);
    if (infinite || result > kLargest) {
      if (overflow == Overflow::kSaturate || Kind == Specials::kFinite) {
        result = kLargest;
      } else if (Kind == Specials::kIeee) {
        result = kInfinity;
      } else {
        return Kind == Specials::kUnsignedZero ? kNan : sign | kNan;
      }
    }
    if (result == 0 && Kind == Specials::kUnsignedZero) return 0;
    return sign | result;
  }

  // Rounds a finite magnitude (the bits of a double) to nearest even; the result may lie above kLargest.
  static constexpr uint32_t round_magnitude(uint64_t magnitude) {
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    if (magnitude == 0 || exponent < -Bias - MantissaBits) return 0;  // below half of the smallest subnormal
    if (exponent > static_cast<int>(kExponentMax) - Bias) return kMagnitudeMask + 1;
    const uint64_t significand = (magnitude & 0x000fffffffffffffull) | 0x0010000000000000ull;
    const bool normal = exponent >= 1 - Bias;
    const int shift = 52 - MantissaBits + (normal ? 0 : 1 - Bias - exponent);
    const uint64_t kept = shift > 63 ? 0 : significand >> shift;
    const uint64_t rest = shift > 63 ? significand : significand & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    const uint64_t rounded = kept + ((rest > half || (rest == half && (kept & 1))) ? 1 : 0);
    // A carry out of the mantissa moves into the exponent, which is what the next binade needs.
    const uint64_t base = normal ? static_cast<uint64_t>(exponent + Bias - 1) << MantissaBits : 0;
    return static_cast<uint32_t>(base + rounded);
  }
};

using Float16 = MiniFloat<5, 10, 15, Specials::kIeee, uint16_t>;
using BFloat16 = MiniFloat<8, 7, 127, Specials::kIeee, uint16_t>;
// NVIDIA's TF32, in the low 19 bits. It is a format of arithmetic, not of storage.
using TensorFloat32 = MiniFloat<8, 10, 127, Specials::kIeee, uint32_t>;
using Float8E4M3FN = MiniFloat<4, 3, 7, Specials::kFiniteNan, uint8_t>;
using Float8E4M3FNUZ = MiniFloat<4, 3, 8, Specials::kUnsignedZero, uint8_t>;
using Float8E5M2 = MiniFloat<5, 2, 15, Specials::kIeee, uint8_t>;
using Float8E5M2FNUZ = MiniFloat<5, 2, 16, Specials::kUnsignedZero, uint8_t>;
using Float4E2M1 = MiniFloat<2, 1, 1, Specials::kFinite, uint8_t>;

// OCP MX scale: an unsigned power of two, 2^(bits - 127); 255 is NaN. Zero and negative values have no code.
struct Float8E8M0 {
  uint8_t bits = 0;
  constexpr Float8E8M0() = default;
  constexpr explicit Float8E8M0(double value) : bits(encode(value)) {}
  static constexpr Float8E8M0 from_bits(uint32_t pattern) {
    Float8E8M0 result;
    result.bits = static_cast<uint8_t>(pattern);
    return result;
  }
  constexpr explicit operator double() const {
    if (bits == 255) return std::numeric_limits<double>::quiet_NaN();
    return std::bit_cast<double>(static_cast<uint64_t>(bits - 127 + 1023) << 52);
  }
  constexpr bool is_nan() const { return bits == 255; }

 private:
  static constexpr uint8_t encode(double value) {
    const uint64_t pattern = std::bit_cast<uint64_t>(value);
    if (!(value >= 0) || pattern == 0x7ff0000000000000ull) return 255;
    const int exponent = static_cast<int>(pattern >> 52) - 1023;
    const uint64_t mantissa = pattern & 0x000fffffffffffffull;
    const int rounded = exponent + (mantissa >= 0x0008000000000000ull ? 1 : 0);
    if (rounded > 127) return 255;
    return rounded < -127 ? uint8_t{0} : static_cast<uint8_t>(rounded + 127);
  }
};

}  // namespace vernier
