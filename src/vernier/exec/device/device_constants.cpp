#include "vernier/exec/device/device_constants.h"

namespace vernier {

std::byte* DeviceConstant::address(Stream& stream) const {
  const std::lock_guard lock(mutex_);
  if (!memory_) {
    auto memory = device_.allocate(content_.byte_size());
    stream.copy(content_.raw(), memory->address(), content_.byte_size());
    stream.wait_on_host(stream.record());
    memory_ = std::move(memory);
  }
  return memory_->address();
}

size_t DeviceConstant::bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_ ? memory_->bytes() : 0;
}

void DeviceConstant::free() const {
  const std::lock_guard lock(mutex_);
  memory_.reset();
}

DeviceConstants::~DeviceConstants() {
  for (const auto& [key, constant] : constants_) {
    if (const auto kept = constant.lock()) kept->free();
  }
}

std::shared_ptr<const DeviceConstant> DeviceConstants::get(Device& device, const Tensor& content) {
  const std::lock_guard lock(mutex_);
  // Plans of sizes that come and go bring constants of their own, which follow from sizes.
  if (constants_.size() >= next_sweep_) {
    std::erase_if(constants_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = 2 * constants_.size() + 64;
  }
  auto& known = constants_[{&device, content.identity(), content.byte_size()}];
  auto constant = known.lock();
  if (!constant) known = constant = std::make_shared<const DeviceConstant>(device, content);
  return constant;
}

}  // namespace vernier
