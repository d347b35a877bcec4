// Little-endian integers at places inside foreign bytes, every read checked. Internal to the room.
#pragma once

#include <cstdint>
#include <span>

#include "vernier/base/error.h"

namespace vernier {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t size() const { return bytes_.size(); }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(integer(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(integer(at, 4)); }
  uint64_t u64(uint64_t at) const { return integer(at, 8); }

  std::span<const std::byte> slice(uint64_t at, uint64_t length) const {
    if (at > bytes_.size() || length > bytes_.size() - at) {
      throw bad_input("the file ends too early: {} bytes at {} of {}", length, at, bytes_.size());
    }
    return bytes_.subspan(at, length);
  }

 private:
  uint64_t integer(uint64_t at, uint64_t length) const {
    uint64_t value = 0;
    const auto from = slice(at, length);
    for (size_t i = length; i-- > 0;) value = value << 8 | static_cast<uint64_t>(from[i]);
    return value;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace vernier
