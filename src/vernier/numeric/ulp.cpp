#include "vernier/numeric/ulp.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vernier {

double FloatFormat::ulps(double difference, double reference) const {
  const int biased = static_cast<int>((std::bit_cast<uint64_t>(reference) >> 52) & 0x7ff);
  return std::scalbn(difference, mantissa_bits - std::max(biased - 1023, min_exponent));
}

std::optional<FloatFormat> float_format(ElementType type) {
  switch (type) {
    case ElementType::kDouble:
    case ElementType::kComplex128: return FloatFormat{52, -1022};
    case ElementType::kFloat:
    case ElementType::kComplex64: return FloatFormat{23, -126};
    case ElementType::kFloat16: return FloatFormat{10, -14};
    case ElementType::kBFloat16: return FloatFormat{7, -126};
    case ElementType::kFloat8E4M3FN: return FloatFormat{3, -6};
    case ElementType::kFloat8E4M3FNUZ: return FloatFormat{3, -7};
    case ElementType::kFloat8E5M2: return FloatFormat{2, -14};
    case ElementType::kFloat8E5M2FNUZ: return FloatFormat{2, -15};
    case ElementType::kFloat4E2M1: return FloatFormat{1, 0};
    case ElementType::kFloat8E8M0: return FloatFormat{0, -127};
    default: return std::nullopt;
  }
}

double unit_roundoff(ElementType type) {
  if (const auto format = float_format(type)) return std::scalbn(1.0, -format->mantissa_bits - 1);
  return is_integer(type) ? std::scalbn(1.0, -static_cast<int>(element_bits(type))) : 0;
}

}  // namespace vernier
