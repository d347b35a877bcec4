#include "vernier/ops/support/cast.h"

#include <bit>
#include <cmath>

#include "vernier/ops/support/text/number_text.h"

namespace vernier::ops {

namespace {

bool is_float8(ElementType type) {
  return type >= ElementType::kFloat8E4M3FN && type <= ElementType::kFloat8E5M2FNUZ;
}

// Rounds to odd, so that a second rounding, to a narrower float, gives what a single one would.
double round_to_odd(uint64_t magnitude) {
  const int excess = 64 - std::countl_zero(magnitude) - 53;
  if (excess <= 0) return static_cast<double>(magnitude);
  const uint64_t kept = magnitude >> excess;
  const bool inexact = (kept << excess) != magnitude;
  return std::ldexp(static_cast<double>(kept | (inexact ? 1 : 0)), excess);
}

// The elements as doubles, such that rounding them to `to` is the only rounding.
std::vector<double> reals_for(const Tensor& x, ElementType to) {
  const bool wide = x.type() == ElementType::kInt64 || x.type() == ElementType::kUint64;
  if (!wide || to == ElementType::kDouble) return x.to_doubles();
  std::vector<double> result;
  result.reserve(static_cast<size_t>(x.size()));
  for (const int64_t value : x.to_ints()) {
    const bool negative = value < 0 && x.type() == ElementType::kInt64;
    const auto bits = static_cast<uint64_t>(value);
    result.push_back(negative ? -round_to_odd(0 - bits) : round_to_odd(bits));
  }
  return result;
}

// The power of two for a scale; see the table in the documentation of Cast. Negative values have none: NaN.
Float8E8M0 to_scale(double value, const CastOptions& options) {
  constexpr uint32_t kLargest = 254, kNan = 255;
  constexpr int kBias = 127;
  if (std::isnan(value) || value < 0) return Float8E8M0::from_bits(kNan);
  if (value < 0x1p-127) return Float8E8M0::from_bits(options.saturate ? 0 : kNan);
  const uint32_t overflow = options.saturate ? kLargest : kNan;
  if (std::isinf(value)) return Float8E8M0::from_bits(overflow);
  int exponent = 0;
  const double fraction =
      2 * std::frexp(value, &exponent);  // value = fraction * 2^(exponent - 1), fraction in [1, 2)
  const double rounds_up_from = options.round_mode == "down"      ? 2
                                : options.round_mode == "nearest" ? 1.5
                                                                  : std::nextafter(1.0, 2.0);
  const int rounded = exponent - 1 + (fraction >= rounds_up_from ? 1 : 0);
  return Float8E8M0::from_bits(rounded > kBias ? overflow : static_cast<uint32_t>(rounded + kBias));
}

Tensor round_to(ElementType to, const Dims& dims, const std::vector<double>& values,
                const CastOptions& options) {
  if (to != ElementType::kFloat8E8M0 && !(is_float8(to) && options.saturate))
    return Tensor::from_doubles(to, dims, values);
  Tensor result(to, dims);
  visit_element_type(to, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, Float8E8M0>) {
      std::transform(values.begin(), values.end(), result.mutable_values<T>().begin(),
                     [&](double x) { return to_scale(x, options); });
    } else if constexpr (requires { T::saturated(0.0); }) {
      std::transform(values.begin(), values.end(), result.mutable_values<T>().begin(), T::saturated);
    }
  });
  return result;
}

Tensor parse(const Tensor& x, ElementType to, const CastOptions& options) {
  const auto text = x.values<std::string>();
  if (is_integer(to)) {
    std::vector<int64_t> values(text.size());
    std::transform(text.begin(), text.end(), values.begin(), parse_integer);
    return Tensor::from_ints(to, x.dims(), values);
  }
  std::vector<double> values(text.size());
  std::transform(text.begin(), text.end(), values.begin(), parse_real);
  return round_to(to, x.dims(), values, options);
}

Tensor format(const Tensor& x) {
  Tensor result(ElementType::kString, x.dims());
  auto text = result.mutable_values<std::string>();
  if (is_float(x.type())) {
    const auto values = x.to_doubles();
    for (size_t i = 0; i < text.size(); ++i) text[i] = format_real(values[i], x.type());
  } else {
    const auto values = x.to_ints();
    const bool is_unsigned = x.type() == ElementType::kUint64;
    for (size_t i = 0; i < text.size(); ++i) {
      text[i] = is_unsigned ? std::to_string(static_cast<uint64_t>(values[i])) : std::to_string(values[i]);
    }
  }
  return result;
}

std::vector<std::complex<double>> complex_values(const Tensor& x) {
  if (x.type() == ElementType::kComplex64) {
    const auto values = x.values<std::complex<float>>();
    return {values.begin(), values.end()};
  }
  if (x.type() == ElementType::kComplex128) {
    const auto values = x.values<std::complex<double>>();
    return {values.begin(), values.end()};
  }
  const auto values = x.to_doubles();
  return {values.begin(), values.end()};
}

// To a real type the real part is kept, as in numpy; BOOL asks for any part other than zero.
Tensor cast_complex(const Tensor& x, ElementType to, const CastOptions& options) {
  const auto values = complex_values(x);
  if (is_complex(to)) {
    Tensor result(to, x.dims());
    if (to == ElementType::kComplex128) {
      std::copy(values.begin(), values.end(), result.mutable_values<std::complex<double>>().begin());
    } else {
      std::transform(values.begin(), values.end(), result.mutable_values<std::complex<float>>().begin(),
                     [](const auto& value) { return std::complex<float>(value); });
    }
    return result;
  }
  std::vector<double> reals(values.size());
  std::transform(values.begin(), values.end(), reals.begin(), [to](const auto& value) {
    return to == ElementType::kBool && value.imag() != 0 ? 1 : value.real();
  });
  return round_to(to, x.dims(), reals, options);
}

}  // namespace

Tensor cast(const Tensor& x, ElementType to, const CastOptions& options) {
  const ElementType from = x.type();
  const bool text = from == ElementType::kString || to == ElementType::kString;
  if (from == to) return x;
  if (text && (is_complex(from) || is_complex(to))) {
    throw unsupported("casts between {} and {}", element_type_name(from), element_type_name(to));
  }
  if (from == ElementType::kString) return parse(x, to, options);
  if (to == ElementType::kString) return format(x);
  if (is_complex(from) || is_complex(to)) return cast_complex(x, to, options);
  if (is_float(to)) return round_to(to, x.dims(), reals_for(x, to), options);
  if (is_float(from)) return Tensor::from_doubles(to, x.dims(), x.to_doubles());
  return Tensor::from_ints(to, x.dims(), x.to_ints());
}

}  // namespace vernier::ops
