// Pinned memory of the host, through which copies of the caller's memory go: the GPU reads and writes it
// while the host goes on, and several times as fast. Large copies go in parts, so that the GPU copies one
// while the host copies the next.
#pragma once

#include <memory>
#include <vector>

#include "vernier/backends/cuda/device/context.h"

namespace vernier::cuda {

// Blocks that are lent to one copy each. Of one stream, and used as it is: by one thread at a time.
class Staging {
 public:
  static constexpr size_t kSmallest = size_t{64} << 10, kLargest = size_t{1} << 20;  // bytes of a block

  struct Block {
    std::shared_ptr<std::byte> memory;
    size_t bytes = 0;
    EventHandle used = nullptr;  // reached when the device is done with it
    bool lent = false;
  };

  explicit Staging(const Context& context) : context_(context) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // A block of at least min(bytes, kLargest) that the device is done with. It waits for the oldest where as
  // many as may be are in use and are not lent; null where all of them are lent.
  Block* take(size_t bytes);

 private:
  static constexpr size_t kMostBytes = size_t{256} << 20;

  Block* make(size_t bytes);

  const Context& context_;
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t total_ = 0, next_ = 0;
};

}  // namespace vernier::cuda
