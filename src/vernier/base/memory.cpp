#include "vernier/base/memory.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace vernier {

namespace {

std::atomic<MemoryWatch*> watcher{nullptr};

void tell(size_t bytes) {
  if (MemoryWatch* watch = watcher.load(std::memory_order_acquire)) watch->allocating(bytes);
}

// Memory is taken from malloc, and aligned here: a hole that aligned_alloc of glibc before 2.38 leaves behind
// is too small for its next request of the same size, so that freed tensors would never be used again. In
// front of what is aligned stands what malloc gave.
void* allocate(size_t alignment, size_t bytes, void* (*take)(size_t)) {
  tell(bytes);
  alignment = std::max(alignment, alignof(std::max_align_t));
  void* taken = bytes > SIZE_MAX - alignment ? nullptr : take(bytes + alignment);
  if (taken == nullptr) throw OutOfMemory(bytes);
  const uintptr_t place = reinterpret_cast<uintptr_t>(taken);
  std::byte* memory = static_cast<std::byte*>(taken) + (alignment - place % alignment);
  reinterpret_cast<void**>(memory)[-1] = taken;
  return memory;
}

}  // namespace

OutOfMemory::OutOfMemory(size_t bytes) noexcept {
  std::snprintf(text_, sizeof text_, "out of memory: %zu bytes", bytes);
}

void* allocate_zeroed(size_t bytes) {
  return allocate(alignof(std::max_align_t), bytes, [](size_t all) { return std::calloc(all, 1); });
}

void* allocate_aligned(size_t alignment, size_t bytes) {
  return allocate(alignment, bytes, [](size_t all) { return std::malloc(all); });
}

void release_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  if (MemoryWatch* watch = watcher.load(std::memory_order_acquire)) watch->released();
  std::free(static_cast<void**>(memory)[-1]);
}

void set_memory_watch(MemoryWatch* watch) {
  watcher.store(watch, std::memory_order_release);
}

}  // namespace vernier
