#include "vernier/base/memory.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace vernier {

namespace {

std::atomic<MemoryWatch*> watcher{nullptr};

void tell(size_t bytes) {
  if (MemoryWatch* watch = watcher.load(std::memory_order_acquire)) watch->allocating(bytes);
}

}  // namespace

OutOfMemory::OutOfMemory(size_t bytes) noexcept {
  std::snprintf(text_, sizeof text_, "out of memory: %zu bytes", bytes);
}

void* allocate_zeroed(size_t bytes) {
  tell(bytes);
  void* memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw OutOfMemory(bytes);
  return memory;
}

void* allocate_aligned(size_t alignment, size_t bytes) {
  tell(bytes);
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) throw OutOfMemory(bytes);
  return memory;
}

void release_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  if (MemoryWatch* watch = watcher.load(std::memory_order_acquire)) watch->released();
  std::free(memory);
}

void set_memory_watch(MemoryWatch* watch) {
  watcher.store(watch, std::memory_order_release);
}

}  // namespace vernier
