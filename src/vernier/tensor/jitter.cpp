#include "vernier/tensor/jitter.h"

namespace vernier {

namespace {

// Neighbours in a sign-magnitude format are neighbours as integers.
template <class Bits>
void move_elements(Tensor& tensor, Bits first_special, std::mt19937_64& random) {
  auto* values = static_cast<Bits*>(tensor.mutable_raw());
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const Bits magnitude = values[i] & kMagnitude;
    const auto step = static_cast<int>(random() % 3) - 1;
    if (magnitude == 0 || magnitude >= first_special - 1) continue;
    values[i] = static_cast<Bits>(values[i] + static_cast<Bits>(step));
  }
}

template <class T>
void add_noise(Tensor& tensor, double terms, std::mt19937_64& random) {
  auto values = tensor.mutable_values<T>();
  double energy = 0;
  for (const T value : values) energy += std::isfinite(value) ? static_cast<double>(value) * value : 0;
  const double size = std::sqrt(energy / static_cast<double>(std::max<size_t>(1, values.size())));
  std::normal_distribution<double> normal(0, std::sqrt(terms) / 4 * size * std::numeric_limits<T>::epsilon());
  for (T& value : values) {
    if (value != 0) value = static_cast<T>(value + normal(random));
  }
}

}  // namespace

Tensor with_sum_noise(const Tensor& tensor, double terms, std::mt19937_64& random) {
  Tensor result = tensor;
  switch (tensor.type()) {
    case ElementType::kFloat: add_noise<float>(result, terms, random); break;
    case ElementType::kDouble: add_noise<double>(result, terms, random); break;
    default: return jittered(tensor, random);
  }
  return result;
}

Tensor with_rounding_flips(const Tensor& tensor, double terms, std::mt19937_64& random) {
  if (tensor.type() != ElementType::kFloat16 && tensor.type() != ElementType::kBFloat16)
    return with_sum_noise(tensor, terms, random);
  auto values = tensor.to_doubles();
  double energy = 0;
  for (const double value : values) energy += std::isfinite(value) ? value * value : 0;
  const double size = std::sqrt(energy / static_cast<double>(std::max<size_t>(1, values.size())));
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const double of_sums = terms > 1 ? std::sqrt(terms) / 4 * size * kEpsilon : 0;
  const int digits = tensor.type() == ElementType::kFloat16 ? 10 : 7;  // behind the point
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> remainder(-0.5, 0.5);
  for (double& value : values) {
    if (value == 0 || !std::isfinite(value)) continue;
    const double last_place = std::ldexp(1, std::ilogb(value) - digits);
    const double noise = of_sums + std::abs(value) * kEpsilon;  // functions are right to a unit or so
    value += remainder(random) * last_place + normal(random) * noise;
  }
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

Tensor jittered(const Tensor& tensor, std::mt19937_64& random) {
  Tensor result = tensor;
  switch (tensor.type()) {
    case ElementType::kFloat: move_elements<uint32_t>(result, 0x7f800000, random); break;
    case ElementType::kDouble: move_elements<uint64_t>(result, 0x7ff0000000000000, random); break;
    case ElementType::kFloat16: move_elements<uint16_t>(result, 0x7c00, random); break;
    case ElementType::kBFloat16: move_elements<uint16_t>(result, 0x7f80, random); break;
    default: break;
  }
  return result;
}

}  // namespace vernier
