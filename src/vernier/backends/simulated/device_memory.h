// Memory that the host cannot touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

namespace vernier::simulated {

// Memory that nobody has written yet holds this. As float16, bfloat16, float or double it is NaN, as an
// integer of any width it is odd, and as a bool it is none: each half-word has all the bits of the exponents
// of float16, bfloat16 and double, a fraction that is not zero, and two odd bytes.
inline constexpr uint16_t kPoison = 0x7ff1;
void poison(std::span<std::byte> memory);

// Buffers have an address, which is reserved and holds nothing, ever: who touches it from the host faults.
// Their content lies elsewhere, where only the device's own commands find it. No address is given out twice,
// so that one of an earlier buffer is never mistaken for one that lives. Thread-safe.
class DeviceMemory {
 public:
  // No more than `limit` bytes live at a time; 0: as many as there are.
  explicit DeviceMemory(size_t limit = 0) : limit_(limit) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // The address of a buffer, aligned to 256 bytes; its content is poisoned. Throws OutOfMemory.
  std::byte* allocate(size_t bytes);
  // Poisons the content. It stays as long as somebody holds what at() gave.
  void free(const std::byte* address);
  // Whether this is, or was, an address of a buffer.
  bool owns(const void* address) const;
  // The content. Throws an internal error unless all of the range lies in one buffer that lives.
  std::shared_ptr<std::byte> at(const void* address, size_t bytes) const;
  // Whether at() gives it.
  bool holds(const void* address, size_t bytes) const;
  size_t bytes_in_use() const;

 private:
  struct Content {
    size_t bytes;
    std::shared_ptr<std::byte> memory;
  };
  using Addresses = std::span<std::byte>;

  std::byte* reserve(size_t bytes);
  bool is_reserved(const std::byte* address) const;
  using Buffer = std::map<const std::byte*, Content>::const_iterator;
  // The buffer that begins last of those up to this address, or none.
  Buffer buffer_before(const std::byte* address) const;

  const size_t limit_;
  mutable std::shared_mutex mutex_;
  std::vector<Addresses> reserved_;
  Addresses left_;  // of the last ones
  std::map<const std::byte*, Content> buffers_;
  size_t in_use_ = 0;
};

}  // namespace vernier::simulated
