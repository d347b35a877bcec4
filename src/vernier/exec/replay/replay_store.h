// Keeps what a session has captured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vernier/exec/device/replay.h"

namespace vernier {

// Replays by what they were captured of: the plan, its step where the segment begins, and the addresses of
// all memory that the steps use. Of each session one store, which the thread that runs the session alone
// uses.
class ReplayStore {
 public:
  using Addresses = std::span<const void* const>;

  struct Entry {
    uint64_t plan;  // Plan::id
    size_t step;
    std::vector<const void*> addresses;
    size_t runs = 0;                      // how often they were asked for
    std::unique_ptr<Replay> replay = {};  // null: nothing was captured so far
    std::string refusal = {};             // why nothing will be
  };

  // The entry of exactly these; where there is none, a new one takes the place of the one that was not asked
  // for the longest. Allocates nothing for those that are there.
  Entry& entry(uint64_t plan, size_t step, Addresses addresses);

  const std::list<Entry>& entries() const { return entries_; }  // used last comes first

  static constexpr size_t kMostEntries = 128;

 private:
  std::list<Entry> entries_;
};

}  // namespace vernier
