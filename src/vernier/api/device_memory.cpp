#include "vernier/device_memory.h"

#include "vernier/api/engine_state.h"
#include "vernier/api/public_error.h"
#include "vernier/engine/engine_device.h"

namespace vernier::api {

struct DeviceMemoryState {
  std::shared_ptr<const EngineState> engine;  // whose device it is
  EngineDevice device;
  std::unique_ptr<Buffer> buffer;

  // These bytes from `offset` on.
  std::byte* range(size_t bytes, size_t offset) const {
    if (offset > buffer->bytes() || bytes > buffer->bytes() - offset)
      throw bad_input("{} bytes from byte {} on are not there in memory of {}", bytes, offset,
                      buffer->bytes());
    return buffer->address() + offset;
  }
};

}  // namespace vernier::api

namespace vernier::v1 {

using api::guarded;

DeviceMemory::DeviceMemory(const Engine& engine, std::string_view device, size_t bytes)
    : state_(guarded([&] {
        EngineDevice found = find_device(*engine.state_->engine, device);
        auto buffer = found.device->allocate(bytes);
        return std::unique_ptr<api::DeviceMemoryState>(
            new api::DeviceMemoryState{engine.state_, std::move(found), std::move(buffer)});
      })) {}
DeviceMemory::DeviceMemory(DeviceMemory&&) noexcept = default;
DeviceMemory& DeviceMemory::operator=(DeviceMemory&&) noexcept = default;
DeviceMemory::~DeviceMemory() = default;

void* DeviceMemory::data() const noexcept {
  return state_ ? state_->buffer->address() : nullptr;
}

size_t DeviceMemory::bytes() const noexcept {
  return state_ ? state_->buffer->bytes() : 0;
}

void DeviceMemory::write(const void* from, size_t bytes, size_t offset) {
  guarded([&] {
    if (!state_) throw usage_error("this memory was moved from");
    state_->device.device->copy(from, state_->range(bytes, offset), bytes);
  });
}

void DeviceMemory::read(void* to, size_t bytes, size_t offset) const {
  guarded([&] {
    if (!state_) throw usage_error("this memory was moved from");
    state_->device.device->copy(state_->range(bytes, offset), to, bytes);
  });
}

}  // namespace vernier::v1
