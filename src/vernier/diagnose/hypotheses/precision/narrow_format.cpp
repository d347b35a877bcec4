#include "vernier/diagnose/hypotheses/precision/narrow_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace vernier {

namespace {

NarrowFormat made(const char* name, int digits, int min_exponent, double largest) {
  NarrowFormat format;
  format.name = name;
  format.digits = digits;
  format.min_exponent = min_exponent;
  format.largest = largest;
  return format;
}

// Makes a normal number of double of its exponent.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

}  // namespace

NarrowFormat NarrowFormat::float16() {
  return made("float16", 11, -14, 65504);
}

NarrowFormat NarrowFormat::bfloat16() {
  return made("bfloat16", 8, -126, 0x1.FEp127);
}

NarrowFormat NarrowFormat::tf32() {
  return made("TF32", 11, -126, 0x1.FFCp127);
}

NarrowFormat NarrowFormat::float8e4m3() {
  return made("float8 (e4m3)", 4, -6, 448);
}

NarrowFormat NarrowFormat::float8e5m2() {
  return made("float8 (e5m2)", 3, -14, 57344);
}

NarrowFormat NarrowFormat::float32() {
  return made("float", 24, -126, 0x1.FFFFFEp127);
}

NarrowFormat NarrowFormat::truncating() const {
  NarrowFormat format = *this;
  format.truncates = true;
  return format;
}

NarrowFormat NarrowFormat::flushing() const {
  NarrowFormat format = *this;
  format.flushes = true;
  return format;
}

NarrowFormat NarrowFormat::saturating() const {
  NarrowFormat format = *this;
  format.saturates = true;
  return format;
}

// Accumulators round after each product, so this is on bits: the digits that go are cut off after what makes
// the last one that stays the nearest, of two the even one.
double NarrowFormat::with_fewer_digits(double value) const {
  const int gone = std::numeric_limits<double>::digits - digits;
  auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t last = uint64_t{1} << gone;
  if (!truncates) bits += last / 2 - 1 + ((bits & last) != 0 ? 1 : 0);
  return std::bit_cast<double>(bits & ~(last - 1));
}

double NarrowFormat::round(double value) const {
  if (value == 0 || !std::isfinite(value)) return value;
  double rounded = 0;
  if (std::abs(value) >= power_of_two(min_exponent)) {
    rounded = with_fewer_digits(value);
  } else {
    const double step = power_of_two(min_exponent - digits + 1);  // so the quotient is exact
    rounded = (truncates ? std::trunc(value / step) : std::nearbyint(value / step)) * step;
    if (flushes && std::abs(rounded) < power_of_two(min_exponent)) return std::copysign(0.0, value);
  }
  if (std::abs(rounded) <= largest) return rounded;
  return std::copysign(saturates || truncates ? largest : HUGE_VAL, value);
}

double NarrowFormat::unit_roundoff() const {
  return power_of_two(-digits);
}

double NarrowFormat::smallest_normal() const {
  return power_of_two(min_exponent);
}

bool NarrowFormat::overflows(double value) const {
  return std::isfinite(value) && std::abs(with_fewer_digits(value)) > largest;
}

std::string NarrowFormat::text() const {
  std::string text = name;
  if (truncates) text += " by cutting off";
  if (flushes) text += " without subnormals";
  if (saturates) text += " that saturates";
  return text;
}

Tensor rounded(const Tensor& tensor, const NarrowFormat& format) {
  if (!is_real(tensor)) return tensor;
  auto values = tensor.to_doubles();
  for (double& value : values) value = format.round(value);
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

std::vector<Tensor> rounded(const std::vector<Tensor>& tensors, const NarrowFormat& format) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& tensor : tensors) result.push_back(rounded(tensor, format));
  return result;
}

bool is_real(const Tensor& tensor) {
  return tensor.is_defined() && is_float(tensor.type());
}

bool overflows(const Tensor& tensor, const NarrowFormat& format) {
  if (!is_real(tensor)) return false;
  const auto values = tensor.to_doubles();
  return std::any_of(values.begin(), values.end(), [&](double value) { return format.overflows(value); });
}

namespace {

// The energy of some elements, and of what they lose where they are subnormal.
struct Energy {
  double all = 0, lost = 0;

  void add(double value, const NarrowFormat& format) {
    if (!std::isfinite(value)) return;
    all += value * value;
    if (std::abs(value) >= format.smallest_normal()) return;
    const double error = value - format.round(value);
    lost += error * error;
  }
  bool counts(const NarrowFormat& format) const {
    constexpr double kRoundings = 4;
    const double least = kRoundings * format.unit_roundoff();
    return lost > least * least * all;
  }
};

bool any_part_underflows(const std::vector<double>& values, size_t parts, bool last,
                         const NarrowFormat& format) {
  std::vector<Energy> energies(parts);
  const size_t size = values.size() / parts;
  for (size_t i = 0; i < values.size(); ++i) energies[last ? i % parts : i / size].add(values[i], format);
  return std::any_of(energies.begin(), energies.end(),
                     [&](const Energy& energy) { return energy.counts(format); });
}

}  // namespace

bool underflows(const Tensor& tensor, const NarrowFormat& format, bool by_channel) {
  if (!is_real(tensor) || tensor.size() == 0) return false;
  const auto values = tensor.to_doubles();
  if (!by_channel || tensor.rank() < 2) return any_part_underflows(values, 1, false, format);
  return any_part_underflows(values, static_cast<size_t>(tensor.dims().front()), false, format) ||
         any_part_underflows(values, static_cast<size_t>(tensor.dims().back()), true, format);
}

}  // namespace vernier
