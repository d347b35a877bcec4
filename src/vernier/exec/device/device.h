// A backend computes on a device: its memory and its queues.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "vernier/base/error.h"
#include "vernier/exec/device/replay.h"
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
  // Memory of the host that copies of the device read and write at once; null where any of it is as good.
  // The device outlives it. Throws OutOfMemory.
  virtual std::shared_ptr<std::byte> host_memory(size_t /*bytes*/) { return nullptr; }
  virtual std::unique_ptr<Stream> stream() = 0;
  // A queue of the caller's, made with the library of the device (a CUstream), as a stream. The queue
  // outlives it. Throws unsupported where the device has no such queues.
  virtual std::unique_ptr<Stream> adopt(void* /*queue*/) {
    throw unsupported("{} works in the order of no queue but its own", name());
  }
  // Whether kernels and copies of the device reach the first and the last of these bytes, whoever of the
  // process allocated memory there.
  virtual bool reaches(const void* /*address*/, size_t /*bytes*/) const { return host_visible(); }
  // Copies now: each side is memory of the device or of the host. Throws what went wrong.
  void copy(const void* from, void* to, size_t bytes) {
    const auto stream = this->stream();
    stream->copy(from, to, bytes);
    stream->wait_on_host(stream->record());
  }
  // How many streams serve a session best.
  virtual int stream_count() const = 0;
  // Gives the size of the caches between its kernels and its memory, which trials flush; 0 where there is
  // nothing to flush.
  virtual size_t cache_bytes() const { return 0; }
  // Whether capture() may serve, so that it pays to ask.
  virtual bool captures() const { return false; }
  // Keeps what `work` enqueues on this stream of the device, instead of doing it: kernels that are prepared
  // and that have run before, and copies within the device. Null, with `reason`, where that cannot be: then
  // nothing was enqueued. Throws what went wrong on the stream before.
  virtual std::unique_ptr<Replay> capture(Stream& /*stream*/, const std::function<void()>& /*work*/,
                                          std::string& reason) {
    reason = "it cannot capture what it does";
    return nullptr;
  }
  // Tells the device what the host does to its own memory that copies of the device read or write. A device
  // that checks how it is used looks whether that is in order with them; for others there is nothing to do.
  virtual void host_reads(const void* /*address*/, size_t /*bytes*/) {}
  virtual void host_writes(const void* /*address*/, size_t /*bytes*/) {}
};

}  // namespace vernier
