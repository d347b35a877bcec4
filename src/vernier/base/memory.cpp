#include "vernier/base/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

namespace vernier {

namespace {

std::atomic<MemoryWatch*> watcher{nullptr};

void tell(size_t bytes) {
  if (MemoryWatch* watch = watcher.load(std::memory_order_acquire)) watch->allocating(bytes);
}

// Holds memory that malloc gave.
struct Block {
  void* memory = nullptr;
  size_t bytes = 0;
};

// Blocks between their uses. Under a sanitizer none is kept: it tells of memory that is used after its
// release.
class Pool {
 public:
  static Pool& instance() {
    static Pool& pool = *new Pool;  // memory is released until the program ends
    return pool;
  }

  static constexpr size_t kLeast = size_t{128} << 10;  // malloc gets smaller blocks from the system seldom

  void begin() {
    const std::lock_guard lock(mutex_);
#ifndef VERNIER_SANITIZED
    ++keepers_;
#endif
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
#ifndef VERNIER_SANITIZED
    if (--keepers_ == 0) free_all();
#endif
  }

  // The smallest block that will do; none that is so large that much of it would lie idle.
  std::optional<Block> take(size_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;  // in a forked child it may never be free again
    auto best = kept_.end();
    for (auto each = kept_.begin(); each != kept_.end(); ++each) {
      const bool fits = each->bytes >= bytes && each->bytes - bytes <= bytes / 4;
      if (fits && (best == kept_.end() || each->bytes < best->bytes)) best = each;
    }
    if (best == kept_.end()) return std::nullopt;
    const Block found = *best;
    kept_.erase(best);
    kept_bytes_ -= found.bytes;
    ++reused_;
    return found;
  }

  // Whether the block is kept; else the caller frees it.
  bool keep(const Block& block) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || keepers_ == 0) return false;
    const size_t most = most_used_.load(std::memory_order_relaxed),
                 used = used_.load(std::memory_order_relaxed);
    const size_t room = most - std::min(most, used);
    if (block.bytes > room) return false;
    size_t dropped = 0;
    for (; kept_bytes_ + block.bytes > room; ++dropped) drop(kept_[dropped]);
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(dropped));
    try {
      kept_.push_back(block);
    } catch (const std::bad_alloc&) {
      return false;
    }
    kept_bytes_ += block.bytes;
    return true;
  }

  void give_back() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock) free_all();
  }

  void note_use(size_t bytes) noexcept {
    const size_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    size_t most = most_used_.load(std::memory_order_relaxed);
    while (used > most && !most_used_.compare_exchange_weak(most, used, std::memory_order_relaxed)) {
    }
  }
  void note_release(size_t bytes) noexcept {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  size_t bytes() const {
    return kept_bytes_;
  }
  size_t reused() const {
    return reused_;
  }

 private:
  void drop(const Block& block) noexcept {
    kept_bytes_ -= block.bytes;
    std::free(block.memory);
  }
  void free_all() noexcept {
    for (const Block& block : kept_) drop(block);
    kept_.clear();
  }

  std::mutex mutex_;
  size_t keepers_ = 0;
  std::vector<Block> kept_;  // the first that was released first
  std::atomic<size_t> kept_bytes_{0}, reused_{0}, used_{0}, most_used_{0};
};

constexpr size_t kHugePage = size_t{2} << 20;

// Large blocks of fresh memory lie in huge pages where the system has them for who asks: they take one fault
// instead of 512.
void ask_for_huge_pages(const Block& block) {
  if (block.bytes < 2 * kHugePage) return;
  const auto begin = (reinterpret_cast<uintptr_t>(block.memory) + kHugePage - 1) / kHugePage * kHugePage,
             end = (reinterpret_cast<uintptr_t>(block.memory) + block.bytes) / kHugePage * kHugePage;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

// In front of what is given out.
struct alignas(16) Header {
  Block block;
};

// Memory is taken from malloc, and aligned here: a hole that aligned_alloc of glibc before 2.38 leaves behind
// is too small for its next request of the same size, so that freed tensors would never be used again.
void* allocate(size_t alignment, size_t bytes, bool zeroed) {
  tell(bytes);
  alignment = std::max(alignment, alignof(Header));
  const size_t extra = sizeof(Header) + alignment;
  if (bytes > SIZE_MAX - extra) throw OutOfMemory(bytes);
  const size_t size = bytes + extra;
  Pool& pool = Pool::instance();
  const std::optional<Block> again = size >= Pool::kLeast ? pool.take(size) : std::nullopt;
  Block block = again.value_or(Block{nullptr, size});
  const auto fresh = [&] { return zeroed ? std::calloc(size, 1) : std::malloc(size); };
  if (!again) {
    block.memory = fresh();
    if (block.memory == nullptr) {
      pool.give_back();
      block.memory = fresh();
    }
    if (block.memory == nullptr) throw OutOfMemory(bytes);
    ask_for_huge_pages(block);
  }
  pool.note_use(block.bytes);
  const uintptr_t place = reinterpret_cast<uintptr_t>(block.memory) + sizeof(Header);
  std::byte* memory =
      static_cast<std::byte*>(block.memory) + sizeof(Header) + (alignment - place % alignment) % alignment;
  reinterpret_cast<Header*>(memory)[-1] = {block};
  if (again && zeroed) std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace

OutOfMemory::OutOfMemory(size_t bytes) noexcept {
  std::snprintf(text_, sizeof text_, "out of memory: %zu bytes", bytes);
}

void* allocate_zeroed(size_t bytes) {
  return allocate(alignof(std::max_align_t), bytes, true);
}

void* allocate_aligned(size_t alignment, size_t bytes) {
  return allocate(alignment, bytes, false);
}

void release_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  if (MemoryWatch* watch = watcher.load(std::memory_order_acquire)) watch->released();
  const Block block = static_cast<Header*>(memory)[-1].block;
  Pool& pool = Pool::instance();
  pool.note_release(block.bytes);
  if (block.bytes < Pool::kLeast || !pool.keep(block)) std::free(block.memory);
}

KeptMemory::KeptMemory() {
  Pool::instance().begin();
}

KeptMemory::~KeptMemory() {
  Pool::instance().end();
}

size_t KeptMemory::bytes() {
  return Pool::instance().bytes();
}

size_t KeptMemory::reused() {
  return Pool::instance().reused();
}

void set_memory_watch(MemoryWatch* watch) {
  watcher.store(watch, std::memory_order_release);
}

}  // namespace vernier
