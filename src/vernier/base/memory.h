// Memory of tensors and working areas: the allocations that may be large.
#pragma once

#include <cstddef>
#include <new>

namespace vernier {

// There is no memory for what was asked. It holds its text itself, since there is no memory.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(size_t bytes) noexcept;
  const char* what() const noexcept override { return text_; }

 private:
  char text_[64];
};

// Both throw OutOfMemory, and are freed by release_memory. Fresh pages from the system are zero already and
// are not touched.
void* allocate_zeroed(size_t bytes);
// `alignment` is a power of two.
void* allocate_aligned(size_t alignment, size_t bytes);
void release_memory(void* memory) noexcept;

// Told of every allocation above, so that tests can make it fail (by throwing) and count what lives.
struct MemoryWatch {
  virtual ~MemoryWatch() = default;
  virtual void allocating(size_t bytes) = 0;
  virtual void released() noexcept = 0;
};
// Null: nobody watches.
void set_memory_watch(MemoryWatch* watch);

}  // namespace vernier
