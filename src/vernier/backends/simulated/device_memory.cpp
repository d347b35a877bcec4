#include "vernier/backends/simulated/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "vernier/base/error.h"
#include "vernier/base/memory.h"

namespace vernier::simulated {

namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kReservation = size_t{1} << 30;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}
auto number(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

}  // namespace

void poison(std::span<std::byte> memory) {
  // Doubles what is there: builds with sanitizers spend a third of their tests in a loop over the bytes.
  size_t filled = std::min(memory.size(), sizeof(kPoison));
  if (filled > 0) std::memcpy(memory.data(), &kPoison, filled);
  while (filled < memory.size()) {
    const size_t more = std::min(filled, memory.size() - filled);
    std::memcpy(memory.data() + filled, memory.data(), more);
    filled += more;
  }
}

DeviceMemory::~DeviceMemory() {
  for (const Addresses& addresses : reserved_) ::munmap(addresses.data(), addresses.size());
}

std::byte* DeviceMemory::reserve(size_t bytes) {
  // The memory between two buffers is in neither, so that leaving one does not lead into the next.
  if (bytes > SIZE_MAX / 2) throw OutOfMemory(bytes);
  const size_t wanted = aligned(bytes) + kAlignment;
  if (wanted > left_.size()) {
    const size_t size = std::max(wanted, kReservation);
    void* start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw OutOfMemory(bytes);
    left_ = {static_cast<std::byte*>(start), size};
    reserved_.push_back(left_);
  }
  std::byte* address = left_.data();
  left_ = left_.subspan(wanted);
  return address;
}

std::byte* DeviceMemory::allocate(size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (limit_ != 0 && (bytes > limit_ || in_use_ > limit_ - bytes)) throw OutOfMemory(bytes);
  std::byte* address = reserve(bytes);
  auto* memory = static_cast<std::byte*>(allocate_aligned(kAlignment, aligned(std::max<size_t>(bytes, 1))));
  poison({memory, bytes});
  buffers_[address] = {bytes, {memory, release_memory}};
  in_use_ += bytes;
  return address;
}

void DeviceMemory::free(const std::byte* address) {
  const std::lock_guard lock(mutex_);
  const auto buffer = buffers_.find(address);
  if (buffer == buffers_.end())
    throw internal_error("there is no buffer at {:#x} to be freed", number(address));
  poison({buffer->second.memory.get(), buffer->second.bytes});
  in_use_ -= buffer->second.bytes;
  buffers_.erase(buffer);
}

bool DeviceMemory::is_reserved(const std::byte* address) const {
  return std::any_of(reserved_.begin(), reserved_.end(), [&](const Addresses& addresses) {
    return address >= addresses.data() && address < addresses.data() + addresses.size();
  });
}

bool DeviceMemory::owns(const void* address) const {
  const std::shared_lock lock(mutex_);
  return is_reserved(static_cast<const std::byte*>(address));
}

DeviceMemory::Buffer DeviceMemory::buffer_before(const std::byte* address) const {
  const auto behind = buffers_.upper_bound(address);
  return behind == buffers_.begin() ? buffers_.end() : std::prev(behind);
}

std::shared_ptr<std::byte> DeviceMemory::at(const void* address, size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(address);
  const std::shared_lock lock(mutex_);
  if (!is_reserved(first)) throw internal_error("{:#x} is no address of the device", number(address));
  const Buffer buffer = buffer_before(first);
  const auto offset = buffer == buffers_.end() ? 0 : static_cast<size_t>(first - buffer->first);
  if (buffer == buffers_.end() || offset >= aligned(buffer->second.bytes) + kAlignment)
    throw internal_error("use of freed memory: there is no buffer at {:#x} any more", number(address));
  if (offset > buffer->second.bytes || bytes > buffer->second.bytes - offset)
    throw internal_error("out of bounds: {} bytes from byte {} of a buffer of {}", bytes, offset,
                         buffer->second.bytes);
  return {buffer->second.memory, buffer->second.memory.get() + offset};
}

bool DeviceMemory::holds(const void* address, size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(address);
  const std::shared_lock lock(mutex_);
  const Buffer buffer = buffer_before(first);
  return buffer != buffers_.end() && first + bytes <= buffer->first + buffer->second.bytes;
}

size_t DeviceMemory::bytes_in_use() const {
  const std::shared_lock lock(mutex_);
  return in_use_;
}

}  // namespace vernier::simulated
