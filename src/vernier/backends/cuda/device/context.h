// A GPU of this process: its primary context, which it shares with whatever else uses CUDA here, and whether
// it is lost.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "vernier/backends/cuda/libraries/driver_api.h"

namespace vernier::cuda {

struct DeviceFacts {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0, multiprocessors = 0;
  int cache_bytes = 0;  // of the cache in front of its memory
  size_t memory = 0;    // bytes

  // Names what programs are compiled for: "sm_80"; "sm_90a" with the instructions that no other device has.
  std::string architecture() const;
};

// Thread-safe. The primary context is kept until the process ends: others may use it, and a driver that is
// shutting down takes no calls.
class Context {
 public:
  // `api` outlives this. Throws unsupported where the machine has no such GPU.
  Context(const DriverApi& api, int ordinal);

  const DriverApi& api() const { return api_; }
  const DeviceFacts& facts() const { return facts_; }
  // Where an address lies, as the driver knows it: in memory of this GPU, in pinned memory of the host, or
  // elsewhere.
  enum class Place : uint8_t { kGpu, kPinned, kElsewhere };
  Place place_of(const void* address) const;
  // Pinned memory of the host, which this outlives. The context is that of the calling thread. Throws
  // OutOfMemory.
  std::shared_ptr<std::byte> pinned(size_t bytes) const;
  // Makes it the context of the calling thread, which every call of the driver needs. Throws where the device
  // is lost.
  void use() const;
  // Throws where a call went wrong: OutOfMemory for `bytes` that are not there, internal_error for all else.
  // After what the driver cannot recover from, the device is lost.
  void check(Status status, const std::string& what, size_t bytes = 0) const;
  bool is_lost() const { return lost_; }

 private:
  void require_device(int ordinal);

  const DriverApi& api_;
  DeviceFacts facts_;
  int ordinal_;
  ContextHandle handle_ = nullptr;
  mutable std::atomic<bool> lost_ = false;
  mutable std::mutex mutex_;
  mutable std::string why_lost_;
};

// Throws as Context::check does, where there is no context yet.
void check_driver(const DriverApi& api, Status status, const std::string& what);

}  // namespace vernier::cuda
