// Memory of a device.
#pragma once

#include <cstddef>

namespace vernier {

// Freed with the object. Where work that is queued still uses it, it is handed to Stream::release instead.
class Buffer {
 public:
  virtual ~Buffer() = default;
  // As kernels and streams of the device take it. The host may touch what lies there only where
  // Device::host_visible says so.
  virtual std::byte* address() const = 0;
  virtual size_t bytes() const = 0;
};

}  // namespace vernier
