#include "vernier/tensor/jitter.h"

#include <cmath>
#include <numeric>
#include <random>

#include "vernier/tensor/drawn_blocks.h"

namespace vernier {

namespace {

template <class T>
double root_mean_square(std::span<T> values) {
  std::vector<double> sums(block_count(values.size()));
  for_each_block(values, [&](size_t block, std::span<T> part) {
    double energy = 0;
    for (const T value : part) energy += std::isfinite(value) ? static_cast<double>(value) * value : 0;
    sums[block] = energy;
  });
  const double energy = std::accumulate(sums.begin(), sums.end(), 0.0);
  return std::sqrt(energy / static_cast<double>(std::max<size_t>(1, values.size())));
}

// Neighbours in a sign-magnitude format are neighbours as integers.
template <class Bits>
void move_elements(Tensor& tensor, Bits first_special, uint64_t seed) {
  const std::span values(static_cast<Bits*>(tensor.mutable_raw()), static_cast<size_t>(tensor.size()));
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits{0}) >> 1;
  draw_blocks(values, seed, [&](std::span<Bits> part, SplitMix64& own) {
    for (Bits& value : part) {
      const Bits magnitude = value & kMagnitude;
      const auto step = static_cast<int>(own() % 3) - 1;
      if (magnitude == 0 || magnitude >= first_special - 1) continue;
      value = static_cast<Bits>(value + static_cast<Bits>(step));
    }
  });
}

template <class T>
void add_noise(Tensor& tensor, double terms, uint64_t seed) {
  const auto values = tensor.mutable_values<T>();
  const double deviation =
      std::sqrt(terms) / 4 * root_mean_square(values) * std::numeric_limits<T>::epsilon();
  draw_blocks(values, seed, [&](std::span<T> part, SplitMix64& own) {
    std::normal_distribution<double> normal(0, deviation);
    for (T& value : part) {
      if (value != 0) value = static_cast<T>(value + normal(own));
    }
  });
}

}  // namespace

Tensor with_sum_noise(const Tensor& tensor, double terms, uint64_t seed) {
  Tensor result = tensor;
  switch (tensor.type()) {
    case ElementType::kFloat: add_noise<float>(result, terms, seed); break;
    case ElementType::kDouble: add_noise<double>(result, terms, seed); break;
    default: return jittered(tensor, seed);
  }
  return result;
}

Tensor with_rounding_flips(const Tensor& tensor, double terms, uint64_t seed) {
  if (tensor.type() != ElementType::kFloat16 && tensor.type() != ElementType::kBFloat16)
    return with_sum_noise(tensor, terms, seed);
  auto values = tensor.to_doubles();
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  const double of_sums =
      terms > 1 ? std::sqrt(terms) / 4 * root_mean_square(std::span(values)) * kEpsilon : 0;
  const int digits = tensor.type() == ElementType::kFloat16 ? 10 : 7;  // behind the point
  draw_blocks(std::span(values), seed, [&](std::span<double> part, SplitMix64& own) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> remainder(-0.5, 0.5);
    for (double& value : part) {
      if (value == 0 || !std::isfinite(value)) continue;
      const double last_place = std::ldexp(1, std::ilogb(value) - digits);
      const double noise = of_sums + std::abs(value) * kEpsilon;  // functions are right to a unit or so
      value += remainder(own) * last_place + normal(own) * noise;
    }
  });
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

Tensor jittered(const Tensor& tensor, uint64_t seed) {
  Tensor result = tensor;
  switch (tensor.type()) {
    case ElementType::kFloat: move_elements<uint32_t>(result, 0x7f800000, seed); break;
    case ElementType::kDouble: move_elements<uint64_t>(result, 0x7ff0000000000000, seed); break;
    case ElementType::kFloat16: move_elements<uint16_t>(result, 0x7c00, seed); break;
    case ElementType::kBFloat16: move_elements<uint16_t>(result, 0x7f80, seed); break;
    default: break;
  }
  return result;
}

}  // namespace vernier
