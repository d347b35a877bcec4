#include "vernier/tensor/packing.h"

#include <cstring>

namespace vernier {

size_t packed_size(ElementType type, int64_t count) {
  const int bits = element_bits(type);
  if (bits == 0) throw bad_input("elements of {} have no fixed size", element_type_name(type));
  size_t total = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(count), static_cast<size_t>(bits), &total)) {
    throw bad_input("{} elements of {} are too many", count, element_type_name(type));
  }
  return total / 8 + (total % 8 != 0 ? 1 : 0);
}

Tensor unpack(ElementType type, Dims dims, std::span<const std::byte> bytes) {
  const int64_t count = element_count(dims);
  if (bytes.size() != packed_size(type, count)) {
    throw bad_input("{}{} needs {} bytes, but has {}", element_type_short_name(type), dims_text(dims),
                    packed_size(type, count), bytes.size());
  }
  Tensor tensor(type, std::move(dims));
  auto* to = static_cast<uint8_t*>(tensor.mutable_raw());
  const auto* from = reinterpret_cast<const uint8_t*>(bytes.data());
  const int bits = element_bits(type);
  if (type == ElementType::kBool) {
    for (size_t i = 0; i < bytes.size(); ++i) to[i] = from[i] != 0;
  } else if (bits >= 8) {
    if (!bytes.empty()) std::memcpy(to, from, bytes.size());
  } else {
    const int per_byte = 8 / bits;
    const int mask = (1 << bits) - 1;
    const int sign = is_signed_integer(type) ? 1 << (bits - 1) : 0;
    for (int64_t i = 0; i < count; ++i) {
      const int code = (from[i / per_byte] >> (i % per_byte * bits)) & mask;
      to[i] = static_cast<uint8_t>((code ^ sign) - sign);
    }
  }
  return tensor;
}

std::string pack(const Tensor& tensor) {
  const ElementType type = tensor.type();
  std::string bytes(packed_size(type, tensor.size()), '\0');
  const auto* from = static_cast<const uint8_t*>(tensor.raw());
  const int bits = element_bits(type);
  if (bits >= 8) {
    if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
    return bytes;
  }
  const int per_byte = 8 / bits;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    bytes[static_cast<size_t>(i / per_byte)] |=
        static_cast<char>((from[i] & ((1 << bits) - 1)) << (i % per_byte * bits));
  }
  return bytes;
}

}  // namespace vernier
