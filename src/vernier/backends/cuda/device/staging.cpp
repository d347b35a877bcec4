#include "vernier/backends/cuda/device/staging.h"

#include <algorithm>
#include <bit>

namespace vernier::cuda {

Staging::~Staging() {
  for (const auto& block : blocks_) context_.api().destroy_event(block->used);
}

Staging::Block* Staging::make(size_t bytes) {
  auto block = std::make_unique<Block>();
  block->memory = context_.pinned(bytes);
  block->bytes = bytes;
  context_.check(context_.api().create_event(&block->used, kEventWithoutTiming), "making an event");
  total_ += bytes;
  blocks_.push_back(std::move(block));
  return blocks_.back().get();
}

Staging::Block* Staging::take(size_t bytes) {
  const size_t size = std::bit_ceil(std::clamp(bytes, kSmallest, kLargest));
  Block* oldest = nullptr;
  if (blocks_.empty()) return make(size);
  // In turn, so that the first that is still in use is the one that was lent longest ago.
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Block& block = *blocks_[(next_ + i) % blocks_.size()];
    if (block.lent || block.bytes < size) continue;
    if (context_.api().query_event(block.used) == kSuccess) {
      next_ = (next_ + i + 1) % blocks_.size();
      return &block;
    }
    if (oldest == nullptr) oldest = &block;
  }
  if (total_ + size <= kMostBytes) return make(size);
  // A smaller one, too: copies go in parts.
  for (size_t i = 0; i < blocks_.size() && oldest == nullptr; ++i) {
    Block& block = *blocks_[(next_ + i) % blocks_.size()];
    if (!block.lent) oldest = &block;
  }
  if (oldest != nullptr)
    context_.check(context_.api().synchronize_event(oldest->used),
                   "waiting for pinned memory that a copy uses");
  return oldest;
}

}  // namespace vernier::cuda
