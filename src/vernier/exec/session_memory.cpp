#include "vernier/exec/session_memory.h"

#include "vernier/exec/device/host_device.h"

namespace vernier {

std::byte* SessionMemory::at_least(Device& device, size_t bytes) {
  if (&device == &host_device()) return host_.at_least(bytes);
  Part& part = parts_[&device];
  if (!part.arena || part.arena->bytes() < bytes) {
    settle();  // a run that goes on uses the arena
    part.arena.reset();
    part.arena = device.allocate(bytes);
  }
  return part.arena->address();
}

Stream& SessionMemory::stream(Device& device, size_t index) {
  auto& streams = parts_[&device].streams;
  while (streams.size() <= index) streams.push_back(device.stream());
  return *streams[index];
}

void SessionMemory::settle() {
  if (std::exchange(left_to_, nullptr) == nullptr) return;
  std::exception_ptr failure;
  for (auto& [device, part] : parts_) {
    for (auto& stream : part.streams) {
      try {
        stream->wait_on_host(stream->record());
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

size_t SessionMemory::bytes() const {
  size_t total = host_.bytes();
  for (const auto& [device, part] : parts_) total += part.arena ? part.arena->bytes() : 0;
  return total;
}

}  // namespace vernier
