#include "vernier/ops/support/random.h"

#include <cmath>
#include <numbers>

#include "vernier/base/hash.h"

namespace vernier::ops {

RandomSource RandomSource::of(const Node& node) {
  const Attribute* seed = node.find_attribute("seed");
  if (seed == nullptr) return RandomSource(hash_text(node.name));
  // Dropout's seed is an integer, that of all others a float.
  if (const auto* integer = std::get_if<int64_t>(&seed->value()))
    return RandomSource(static_cast<uint64_t>(*integer));
  const float value = node.attribute<float>("seed", 0);
  return RandomSource(hash_bytes(&value, sizeof(value)));
}

uint64_t RandomSource::bits(uint64_t index) const {
  return hash_bytes(&index, sizeof(index), seed_);
}

double RandomSource::uniform(int64_t index) const {
  return static_cast<double>(bits(static_cast<uint64_t>(index)) >> 11) * 0x1p-53;
}

double RandomSource::normal(int64_t index) const {
  // Box and Muller; 1 - u lies in (0, 1], where the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * index)));
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

}  // namespace vernier::ops
