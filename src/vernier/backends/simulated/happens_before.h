// Finds uses of memory that nothing orders.
#pragma once

#include <deque>
#include <mutex>
#include <span>

#include "vernier/backends/simulated/access_history.h"

namespace vernier::simulated {

// A race: two commands use the same bytes, one of them writes, and no wait says which comes first. Such a
// program may work for years. So it is not looked at what happens, but at what may: each stream, and the
// host, has a vector clock, which says up to which command of each stream it is behind. It is behind what it
// waits for, and commands are behind all that the host was behind when it enqueued them. A race is found when
// the later command is enqueued, whatever order is taken then. Threads of the host count as one. Thread-safe.
class HappensBefore {
 public:
  size_t begin_stream();           // its number; those of streams that have ended are used again
  void end_stream(size_t stream);  // all its work has ended
  void enqueue(size_t stream, const std::string& command, std::span<const Access> accesses);
  void record(size_t stream, uint64_t value);
  // Waits for an event that was recorded.
  void wait(size_t stream, size_t other, uint64_t value);
  void host_waits(size_t stream, uint64_t value);
  // A use by the host, now.
  void host_uses(const std::string& what, const Access& access);

  std::vector<std::string> findings() const;
  // Gives the findings that were not taken before.
  std::vector<std::string> take_findings();
  // Ranges and events that are kept.
  size_t remembered() const;

 private:
  using Clock = std::vector<uint64_t>;  // by stream; what is missing is 0
  struct Recorded {
    uint64_t value = 0;
    Clock clock;
  };
  struct Timeline {
    bool in_use = false;
    Clock clock;
    std::deque<Recorded> events;  // that the host is not behind
  };

  static void join(Clock& clock, const Clock& other);
  static bool is_behind(const Clock& clock, const Use& use);
  void check(const Clock& clock, const std::string& who, const Access& access);
  void forget_past();

  mutable std::mutex mutex_;
  std::vector<Timeline> streams_;
  Clock host_;
  AccessHistory history_;
  std::vector<std::string> findings_;
  size_t taken_ = 0;
};

}  // namespace vernier::simulated
