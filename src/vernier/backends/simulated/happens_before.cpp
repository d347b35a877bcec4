#include "vernier/backends/simulated/happens_before.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace vernier::simulated {

void HappensBefore::join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

bool HappensBefore::is_behind(const Clock& clock, const Use& use) {
  return use.stream < clock.size() && clock[use.stream] >= use.time;
}

size_t HappensBefore::begin_stream() {
  const std::lock_guard lock(mutex_);
  auto free = std::find_if(streams_.begin(), streams_.end(), [](const Timeline& at) { return !at.in_use; });
  if (free == streams_.end()) free = streams_.emplace(streams_.end());
  const auto stream = static_cast<size_t>(free - streams_.begin());
  free->in_use = true;
  // Its time goes on where that of an earlier stream of this number ended, which the host is behind.
  free->clock.resize(std::max(free->clock.size(), stream + 1));
  return stream;
}

void HappensBefore::end_stream(size_t stream) {
  const std::lock_guard lock(mutex_);
  Timeline& timeline = streams_.at(stream);
  join(host_, timeline.clock);
  timeline.in_use = false;
  forget_past();
}

void HappensBefore::enqueue(size_t stream, const std::string& command, std::span<const Access> accesses) {
  const std::lock_guard lock(mutex_);
  Clock& clock = streams_.at(stream).clock;
  join(clock, host_);
  const Use use{stream, ++clock[stream], command};
  const std::string who = fmt::format("'{}' on stream {}", command, stream);
  for (const Access& access : accesses) check(clock, who, access);
  for (const Access& access : accesses) {
    if (access.bytes > 0) history_.add(access, use);
  }
}

void HappensBefore::record(size_t stream, uint64_t value) {
  const std::lock_guard lock(mutex_);
  Timeline& timeline = streams_.at(stream);
  // An event has a time of its own, so that who is behind that time is behind all that the event is.
  ++timeline.clock[stream];
  timeline.events.push_back({value, timeline.clock});
}

void HappensBefore::wait(size_t stream, size_t other, uint64_t value) {
  const std::lock_guard lock(mutex_);
  // An event that is not kept is one that the host is behind, and so is all that it enqueues.
  for (const Recorded& event : streams_.at(other).events) {
    if (event.value == value) return join(streams_.at(stream).clock, event.clock);
  }
}

void HappensBefore::host_waits(size_t stream, uint64_t value) {
  const std::lock_guard lock(mutex_);
  for (const Recorded& event : streams_.at(stream).events) {
    if (event.value == value) join(host_, event.clock);
  }
  forget_past();
}

void HappensBefore::host_uses(const std::string& what, const Access& access) {
  const std::lock_guard lock(mutex_);
  // It need not be kept: whatever is enqueued from now on comes behind it.
  check(host_, what + " by the host", access);
}

void HappensBefore::check(const Clock& clock, const std::string& who, const Access& access) {
  std::set<std::pair<size_t, uint64_t>> told;  // one finding for two commands, however many bytes they share
  history_.visit_conflicts(access, [&](const Use& earlier, bool writes, const ByteRange& shared) {
    if (is_behind(clock, earlier) || !told.emplace(earlier.stream, earlier.time).second) return;
    findings_.push_back(fmt::format(
        "race: nothing orders {}, which {} {} bytes at {:#x}, behind '{}' on stream {}, which {} them", who,
        access.writes ? "writes" : "reads", shared.end - shared.first, shared.first, earlier.command,
        earlier.stream, writes ? "writes" : "reads"));
  });
}

void HappensBefore::forget_past() {
  history_.forget([&](const Use& use) { return is_behind(host_, use); });
  for (size_t stream = 0; stream < streams_.size(); ++stream) {
    auto& events = streams_[stream].events;
    while (!events.empty() && is_behind(host_, {stream, events.front().clock[stream], {}}))
      events.pop_front();
  }
}

std::vector<std::string> HappensBefore::findings() const {
  const std::lock_guard lock(mutex_);
  return findings_;
}

std::vector<std::string> HappensBefore::take_findings() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> fresh(findings_.begin() + static_cast<std::ptrdiff_t>(taken_), findings_.end());
  taken_ = findings_.size();
  return fresh;
}

size_t HappensBefore::remembered() const {
  const std::lock_guard lock(mutex_);
  size_t count = history_.size();
  for (const Timeline& timeline : streams_) count += timeline.events.size();
  return count;
}

}  // namespace vernier::simulated
