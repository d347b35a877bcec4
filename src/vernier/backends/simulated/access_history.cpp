#include "vernier/backends/simulated/access_history.h"

#include <algorithm>

namespace vernier::simulated {

namespace {

ByteRange range_of(const Access& access) {
  const auto first = reinterpret_cast<uintptr_t>(access.address);
  return {first, first + access.bytes};
}

}  // namespace

// The first range that ends behind the address.
AccessHistory::Ranges::const_iterator AccessHistory::first_behind(uintptr_t address) const {
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return next;
  const auto before = std::prev(next);
  return before->second.end > address ? before : next;
}

void AccessHistory::visit_conflicts(const Access& access, const Visit& visit) const {
  const ByteRange wanted = range_of(access);
  for (auto at = first_behind(wanted.first); at != ranges_.end() && at->first < wanted.end; ++at) {
    const ByteRange shared{std::max(at->first, wanted.first), std::min(at->second.end, wanted.end)};
    if (at->second.write) visit(*at->second.write, true, shared);
    if (!access.writes) continue;
    for (const Use& read : at->second.reads) visit(read, false, shared);
  }
}

// Makes a range that holds the address end there, and another one begin.
void AccessHistory::split(uintptr_t at) {
  const auto found = first_behind(at);
  if (found == ranges_.end() || found->first >= at) return;
  Uses& uses = ranges_.at(found->first);
  ranges_[at] = uses;
  uses.end = at;
}

// Makes ranges that cover all bytes, and none beside them.
void AccessHistory::fill(const ByteRange& range) {
  split(range.first);
  split(range.end);
  uintptr_t at = range.first;
  while (at < range.end) {
    const auto next = ranges_.lower_bound(at);
    if (next != ranges_.end() && next->first == at) {
      at = next->second.end;
      continue;
    }
    const uintptr_t end = next == ranges_.end() ? range.end : std::min(next->first, range.end);
    ranges_[at].end = end;
    at = end;
  }
}

void AccessHistory::add(const Access& access, const Use& use) {
  const ByteRange range = range_of(access);
  fill(range);
  const auto end = ranges_.lower_bound(range.end);
  for (auto at = ranges_.lower_bound(range.first); at != end; ++at) {
    auto& [last, write, reads] = at->second;
    if (access.writes) {
      write = use;
      reads.clear();
      continue;
    }
    std::erase_if(reads, [&](const Use& read) { return read.stream == use.stream; });
    reads.push_back(use);
  }
}

void AccessHistory::forget(const std::function<bool(const Use&)>& is_past) {
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    auto& [end, write, reads] = at->second;
    if (write && is_past(*write)) write.reset();
    std::erase_if(reads, is_past);
    at = !write && reads.empty() ? ranges_.erase(at) : std::next(at);
  }
}

}  // namespace vernier::simulated
