// The plans of one session run in this: an arena on each device, the streams of accelerators, and what was
// captured of these.
#pragma once

#include <map>
#include <vector>

#include "vernier/exec/device/device.h"
#include "vernier/exec/replay/replay_store.h"
#include "vernier/exec/scratch.h"

namespace vernier {

class SessionMemory {
 public:
  SessionMemory() = default;
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;
  SessionMemory(SessionMemory&&) = default;

  // At least `bytes`; what was in it is lost when it grows. Waits for runs that go on then.
  std::byte* at_least(Device& device, size_t bytes);
  // Made when it is first asked for.
  Stream& stream(Device& device, size_t index);
  size_t bytes() const;
  // A run may go on in the memory when it has returned, in the order of a stream of the caller's.
  void leave(Stream& caller) { left_to_ = &caller; }
  // Whether the next run, in the order of this stream, needs not wait for it.
  bool goes_on_in(const Stream* caller) const { return left_to_ == nullptr || left_to_ == caller; }
  // Waits until no run goes on. Throws what went wrong in those that did.
  void settle();
  ReplayStore& replays() { return replays_; }
  const ReplayStore& replays() const { return replays_; }

 private:
  struct Part {
    std::unique_ptr<Buffer> arena;
    std::vector<std::unique_ptr<Stream>> streams;  // destroyed first: they may still use the arena
  };
  Scratch host_;
  std::map<Device*, Part> parts_;
  Stream* left_to_ = nullptr;
  ReplayStore replays_;  // destroyed first: they are of the streams
};

}  // namespace vernier
