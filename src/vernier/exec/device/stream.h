// The order in which a device works.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "vernier/exec/device/memory.h"

namespace vernier {

class Stream;

// A point of a stream's timeline: reached when all that was enqueued before it has ended. The numbers of one
// stream grow from 1 and never come again, so that an event of an earlier run is seen to be one. Nothing is
// allocated for it, and it needs no reset.
struct Event {
  Stream* stream = nullptr;
  uint64_t value = 0;
};

// A queue of copies, kernels and waits, worked on in this order. Streams of one device work side by side.
// One thread at a time enqueues. Nothing but wait_on_host blocks, and nothing throws on data: what goes wrong
// on the device is told there.
class Stream {
 public:
  virtual ~Stream() = default;
  // Lets all that is enqueued from now on begin after `event`, which is of a stream of the same backend. The
  // host goes on.
  virtual void wait(Event event) = 0;
  virtual Event record() = 0;
  // Each side is memory of the device or of the host; memory of the host stays as it is, and valid, until the
  // copy has ended.
  virtual void copy(const void* from, void* to, size_t bytes) = 0;
  // Frees the memory when the queue gets there.
  virtual void release(std::unique_ptr<Buffer> buffer) = 0;
  virtual bool reached(Event event) const = 0;
  // Returns when `event`, of this stream, is reached. Throws what went wrong in any work of the stream before
  // it.
  virtual void wait_on_host(Event event) = 0;
};

}  // namespace vernier
