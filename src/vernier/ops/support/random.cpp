#include "vernier/ops/support/random.h"

#include <cmath>

#include "vernier/base/hash.h"

namespace vernier::ops {

namespace {

uint32_t seed_of(const Node& node) {
  const Attribute* seed = node.find_attribute("seed");
  if (seed == nullptr) return static_cast<uint32_t>(hash_text(node.name));
  // Dropout's seed is an integer, that of all others a float.
  if (const auto* integer = std::get_if<int64_t>(&seed->value())) return static_cast<uint32_t>(*integer);
  const double value = node.attribute<float>("seed", 0);
  return std::abs(value) < 0x1p62 ? static_cast<uint32_t>(static_cast<int64_t>(value)) : 0;
}

}  // namespace

RandomSource::RandomSource(const Node& node) : engine_(seed_of(node)) {}

double RandomSource::uniform() {
  const auto high = engine_() >> 5, low = engine_() >> 6;
  return static_cast<double>(high * (uint64_t{1} << 26) + low) * 0x1p-53;
}

// Marsaglia's polar method.
double RandomSource::normal() {
  if (spare_) {
    const double value = *spare_;
    spare_.reset();
    return value;
  }
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * std::log(square) / square);
  spare_ = factor * x;
  return factor * y;
}

}  // namespace vernier::ops
