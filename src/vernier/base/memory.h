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

// While one of these lives, large blocks that are released are kept for the next allocation of about their
// size: a run of the reference makes and drops tensors of a few sizes all the time, and pages that go back to
// the system each time cost more than the arithmetic. What is kept and what is in use are together never more
// than was in use at once before, so that a process does not grow by it. The end of the last one gives
// everything back; so does an allocation for which there is no memory. Thread-safe.
class KeptMemory {
 public:
  KeptMemory();
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

  // Bytes that are kept at the moment, and blocks that have been used again since the process began.
  static size_t bytes();
  static size_t reused();
};

// Told of every allocation above, so that tests can make it fail (by throwing) and count what lives.
struct MemoryWatch {
  virtual ~MemoryWatch() = default;
  virtual void allocating(size_t bytes) = 0;
  virtual void released() noexcept = 0;
};
// Null: nobody watches.
void set_memory_watch(MemoryWatch* watch);

}  // namespace vernier
