#include "vernier/exec/replay/replay_store.h"

#include <algorithm>

namespace vernier {

ReplayStore::Entry& ReplayStore::entry(uint64_t plan, size_t step, Addresses addresses) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
    return each.plan == plan && each.step == step &&
           std::equal(each.addresses.begin(), each.addresses.end(), addresses.begin(), addresses.end());
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    if (entries_.size() >= kMostEntries) entries_.pop_back();
    entries_.push_front({plan, step, {addresses.begin(), addresses.end()}});
  }
  ++entries_.front().runs;
  return entries_.front();
}

}  // namespace vernier
