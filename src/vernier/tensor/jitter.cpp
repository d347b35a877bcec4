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

}  // namespace

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
