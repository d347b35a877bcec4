// Memory of a GPU, for applications that do not use its library themselves.
#pragma once

#include "vernier/vernier.h"

namespace vernier::v1 {

// Memory of a device of an engine, which any session of the engine may be bound to. Freed with the object,
// which no run uses then.
class VERNIER_API DeviceMemory {
 public:
  // `device` as BuildOptions::devices names it: "cuda" for the first GPU of the engine, "cuda:1"; or "cpu".
  // Throws kUsage for a device that the engine does not have, kOutOfMemory.
  DeviceMemory(const Engine& engine, std::string_view device, size_t bytes);
  DeviceMemory(DeviceMemory&&) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) noexcept;
  ~DeviceMemory();

  // An address of the device, which the host does not read; aligned to 256 bytes.
  void* data() const noexcept;
  size_t bytes() const noexcept;
  // Copies between the host and these bytes from `offset` on, and returns when that is done. Throws kBadInput
  // for bytes that are not there.
  void write(const void* from, size_t bytes, size_t offset = 0);
  void read(void* to, size_t bytes, size_t offset = 0) const;

 private:
  std::unique_ptr<api::DeviceMemoryState> state_;
};

}  // namespace vernier::v1
