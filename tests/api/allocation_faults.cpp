#include "api/allocation_faults.h"

#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "vernier/base/memory.h"

namespace {

constexpr int64_t kNever = INT64_MAX;
std::atomic<int64_t> countdown{kNever};  // allocations until one fails
std::atomic<bool> for_good{false};       // whether all after it fail, too
std::atomic<int64_t> failed{0}, live{0};

bool must_fail() {
  if (countdown.load() == kNever) return false;
  const int64_t left = countdown.fetch_sub(1);
  const bool fails = for_good ? left <= 0 : left == 0;
  if (fails) ++failed;
  return fails;
}

// Where the code of libraries lies that are left alone.
struct Foreign {
  static constexpr size_t kMost = 32;
  uintptr_t begin[kMost] = {}, end[kMost] = {};
  size_t count = 0;
};
Foreign foreign;

int note_library(dl_phdr_info* info, size_t, void*) {
  for (const char* name : {"libdnnl", "libgomp", "libprotobuf", "libc.so", "ld-linux"}) {
    if (std::strstr(info->dlpi_name, name) == nullptr) continue;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0 || foreign.count == Foreign::kMost)
        continue;
      foreign.begin[foreign.count] = info->dlpi_addr + header.p_vaddr;
      foreign.end[foreign.count++] = info->dlpi_addr + header.p_vaddr + header.p_memsz;
    }
  }
  return 0;
}

bool is_ours(const void* caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  for (size_t i = 0; i < foreign.count; ++i) {
    if (at >= foreign.begin[i] && at < foreign.end[i]) return false;
  }
  return true;
}

// In front of each block: whether it is counted.
void* allocate(size_t bytes, size_t alignment, const void* caller, bool may_fail = true) {
  const bool counted = is_ours(caller);
  if (counted && may_fail && must_fail()) throw std::bad_alloc();
  const size_t header = std::max<size_t>(alignment, 16);
  const size_t size = (bytes + header + header - 1) / header * header;
  auto* memory = static_cast<char*>(std::aligned_alloc(header, size));
  if (memory == nullptr) throw std::bad_alloc();
  memory[0] = counted ? 1 : 0;
  if (counted) ++live;
  return memory + header;
}

void release(void* memory, size_t alignment) noexcept {
  if (memory == nullptr) return;
  char* block = static_cast<char*>(memory) - std::max<size_t>(alignment, 16);
  if (block[0] != 0) --live;
  std::free(block);
}

struct Watch : vernier::MemoryWatch {
  void allocating(size_t bytes) override {
    if (must_fail()) throw vernier::OutOfMemory(bytes);
    ++live;
  }
  void released() noexcept override { --live; }
};

Watch watch;

}  // namespace

void* operator new(size_t bytes) {
  return allocate(bytes, 0, __builtin_return_address(0));
}
void* operator new[](size_t bytes) {
  return allocate(bytes, 0, __builtin_return_address(0));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<size_t>(alignment), __builtin_return_address(0));
}
// Who asks in this way goes on without, so that there is nothing to see.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 0, __builtin_return_address(0), false);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, 0, __builtin_return_address(0), false);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  release(memory, 0);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  release(memory, 0);
}
void operator delete(void* memory) noexcept {
  release(memory, 0);
}
void operator delete[](void* memory) noexcept {
  release(memory, 0);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory, 0);
}
void operator delete[](void* memory, size_t) noexcept {
  release(memory, 0);
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete(void* memory, size_t, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}
void operator delete[](void* memory, size_t, std::align_val_t alignment) noexcept {
  release(memory, static_cast<size_t>(alignment));
}

namespace vernier::test {

void watch_allocations() {
  dl_iterate_phdr(note_library, nullptr);
  set_memory_watch(&watch);
}

void fail_allocation(int64_t k, bool and_all_after) {
  for_good = and_all_after;
  failed = 0;
  countdown = k;
}

int64_t stop_failing() {
  countdown = kNever;
  return failed;
}

int64_t live_allocations() {
  return live;
}

}  // namespace vernier::test
