// Memory of the simulated device.
#pragma once

#include "vernier/backends/simulated/simulated_device.h"

namespace vernier::simulated {

class SimulatedBuffer : public Buffer {
 public:
  SimulatedBuffer(SimulatedDevice& device, size_t bytes)
      : device_(device), address_(device.memory().allocate(bytes)), bytes_(bytes) {}
  // Unless a stream does it in its turn, the host frees it, and races with work that still uses it.
  ~SimulatedBuffer() override {
    if (!released_) device_.order().host_uses("freeing", {address_, bytes_, true});
    device_.memory().free(address_);
  }

  std::byte* address() const override { return address_; }
  size_t bytes() const override { return bytes_; }
  void released_in_order() { released_ = true; }

 private:
  SimulatedDevice& device_;
  std::byte* address_;
  size_t bytes_;
  bool released_ = false;
};

}  // namespace vernier::simulated
