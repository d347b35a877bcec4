// Constants on accelerators: each is there once, whatever number of plans and sessions reads it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "vernier/exec/device/device.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// A constant in the memory of one device. Its memory is made when a session first reads it, and freed with
// the last plan that has the constant, or with the store that it comes from (DeviceConstants).
class DeviceConstant {
 public:
  // `device` outlives the memory.
  DeviceConstant(Device& device, Tensor content) : device_(device), content_(std::move(content)) {}

  // Where its elements lie on the device, row-major. If nobody has asked before, they are copied there now,
  // by this stream of the device, and this returns when they are there. Thread-safe. Throws OutOfMemory, and
  // what Stream::wait_on_host throws; the next call tries again.
  std::byte* address(Stream& stream) const;
  // Bytes that it takes on the device now: none before somebody has asked for the address.
  size_t bytes() const;

 private:
  friend class DeviceConstants;
  void free() const;

  Device& device_;
  const Tensor content_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Buffer> memory_;
};

// Holds the constants of an engine. All of them are freed when this ends, also those that a plan outside
// still has: no plan of the engine runs then. Devices outlive this.
class DeviceConstants {
 public:
  DeviceConstants() = default;
  ~DeviceConstants();
  DeviceConstants(const DeviceConstants&) = delete;
  DeviceConstants& operator=(const DeviceConstants&) = delete;

  // The same for all who ask for this content, which is told by its identity (Tensor::identity), on this
  // device, as long as one of them keeps it. Nothing is copied yet. Thread-safe.
  std::shared_ptr<const DeviceConstant> get(Device& device, const Tensor& content);

 private:
  using Key = std::tuple<const Device*, const void*, size_t>;  // with the number of bytes

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const DeviceConstant>> constants_;
  size_t next_sweep_ = 64;  // the number of entries from which on those that nobody has are looked for
};

}  // namespace vernier
