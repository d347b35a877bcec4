// Work of a stream that is kept, to be enqueued again as a whole.
#pragma once

namespace vernier {

// Kernels, and copies within a device, at the addresses that they were captured with (Device::capture). It
// keeps none of the memory, and none of the kernels: who enqueues it sees that they are there.
class Replay {
 public:
  virtual ~Replay() = default;
  // On the stream that it was captured on, which outlives it. What goes wrong is told as that of the work
  // itself is, by Stream::wait_on_host.
  virtual void enqueue() = 0;
};

}  // namespace vernier
