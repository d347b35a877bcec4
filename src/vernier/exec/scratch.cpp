#include "vernier/exec/scratch.h"

#include <sys/mman.h>

#include "vernier/base/memory.h"

namespace vernier {

namespace {
constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
}

void Scratch::Free::operator()(std::byte* memory) const {
  release_memory(memory);
}

std::byte* Scratch::at_least(size_t bytes) {
  if (bytes <= bytes_) return memory_.get();
  const size_t alignment = bytes >= kHugePage ? kHugePage : kPage;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  memory_.reset();
  bytes_ = 0;
  memory_.reset(static_cast<std::byte*>(allocate_aligned(alignment, rounded)));
  if (alignment == kHugePage) madvise(memory_.get(), rounded, MADV_HUGEPAGE);
  bytes_ = rounded;
  return memory_.get();
}

}  // namespace vernier
