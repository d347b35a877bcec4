#include "vernier/run/perturb.h"

#include <cmath>
#include <random>

namespace vernier {

namespace {

// Neighbours in a sign-magnitude format are neighbours as integers.
template <class Bits>
void move_bits(Bits* values, int64_t count, Bits magnitude_mask, Bits first_special, std::mt19937_64& random) {
  for (int64_t i = 0; i < count; ++i) {
    const Bits magnitude = values[i] & magnitude_mask;
    const auto step = static_cast<int>(random() % 3) - 1;
    if (magnitude == 0 || magnitude >= first_special - 1) continue;
    values[i] = static_cast<Bits>(values[i] + static_cast<Bits>(step));
  }
}

Tensor moved(const Tensor& tensor, std::mt19937_64& random) {
  Tensor result = tensor;
  void* raw = result.mutable_raw();
  switch (tensor.type()) {
    case ElementType::kFloat: move_bits(static_cast<uint32_t*>(raw), tensor.size(), 0x7fffffffu, 0x7f800000u, random); break;
    case ElementType::kDouble: move_bits(static_cast<uint64_t*>(raw), tensor.size(), uint64_t{0x7fffffffffffffff}, uint64_t{0x7ff0000000000000}, random); break;
    case ElementType::kFloat16: move_bits(static_cast<uint16_t*>(raw), tensor.size(), uint16_t{0x7fff}, uint16_t{0x7c00}, random); break;
    case ElementType::kBFloat16: move_bits(static_cast<uint16_t*>(raw), tensor.size(), uint16_t{0x7fff}, uint16_t{0x7f80}, random); break;
    default: break;
  }
  return result;
}

bool movable(const Datum& datum) {
  if (!datum.is_tensor()) return false;
  const ElementType type = datum.tensor.type();
  return type == ElementType::kFloat || type == ElementType::kDouble || type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

}  // namespace

bool has_floats(const NamedData& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return movable(input.second); });
}

NamedData perturbed(const NamedData& inputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  NamedData result = inputs;
  for (auto& [name, datum] : result) {
    if (movable(datum)) datum = moved(datum.tensor, random);
  }
  return result;
}

std::map<std::string, double> noise_floor(const Trace& reference, const Trace& moved) {
  std::map<std::string, double> floor;
  for (const TraceEntry& entry : reference.entries) {
    const TraceEntry* other = moved.find(entry.value);
    if (other == nullptr || !entry.datum.is_tensor() || !other->datum.is_tensor() || !is_float(entry.datum.tensor.type())) continue;
    if (entry.datum.tensor.dims() != other->datum.tensor.dims()) continue;
    const auto a = entry.datum.tensor.to_doubles(), b = other->datum.tensor.to_doubles();
    double difference = 0, norm = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      norm += a[i] * a[i];
    }
    floor[entry.value] = norm > 0 ? std::sqrt(difference / norm) : 0;
  }
  return floor;
}

}  // namespace vernier
