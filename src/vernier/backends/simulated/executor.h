// Who runs the commands of a device's streams.
#pragma once

#include "vernier/backends/simulated/command_queue.h"

namespace vernier::simulated {

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void begin(std::shared_ptr<CommandQueue> queue) = 0;
  // Returns when all that is enqueued has ended.
  virtual void end(const std::shared_ptr<CommandQueue>& queue) = 0;
  // Returns when an event of the queue, which was recorded, is reached.
  virtual void finish(const std::shared_ptr<CommandQueue>& queue, uint64_t value) = 0;
};

// Runs nothing until the host waits. Then it runs what must be, and some of what may be, in an order that
// waits allow and the seed draws, on the thread that waits. So what no wait forces is, for some seed, late or
// early, every time.
std::unique_ptr<Executor> make_lazy_executor(uint64_t seed);

// A thread for each stream, which pauses between commands for as long as the seed draws. For
// ThreadSanitizer.
std::unique_ptr<Executor> make_threads_executor(uint64_t seed);

}  // namespace vernier::simulated
