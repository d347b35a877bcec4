// What a backend computes on: its memory and its queues.
#pragma once

#include <string>

#include "vernier/exec/device/stream.h"

namespace vernier {

class Device {
 public:
  virtual ~Device() = default;
  // "cpu", "simulated"
  virtual const std::string& name() const = 0;
  // Whether the host reads and writes its memory like its own. Then kernels read and write memory of the
  // host, too, work is done when a call returns, and nothing is copied.
  virtual bool host_visible() const = 0;
  // Aligned to at least 256 bytes; what is in it is not defined. Throws OutOfMemory.
  virtual std::unique_ptr<Buffer> allocate(size_t bytes) = 0;
  virtual std::unique_ptr<Stream> stream() = 0;
  // How many streams serve a session best.
  virtual int stream_count() const = 0;
  // What the host does to its own memory that copies of the device read or write. A device that checks how it
  // is used looks whether that is in order with them; for others there is nothing to do.
  virtual void host_reads(const void* /*address*/, size_t /*bytes*/) {}
  virtual void host_writes(const void* /*address*/, size_t /*bytes*/) {}
};

}  // namespace vernier
