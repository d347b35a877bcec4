// Who last used which bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vernier::simulated {

// Bytes that a command reads or writes, of the device or of the host.
struct Access {
  const void* address = nullptr;
  size_t bytes = 0;
  bool writes = false;
};

// A command of a stream. Those of one stream count up in the order in which it works.
struct Use {
  size_t stream = 0;
  uint64_t time = 0;
  std::string command;
};

struct ByteRange {
  uintptr_t first = 0, end = 0;
};

// Keeps of each byte its last write, and the last read of each stream since: whatever comes after those comes
// after all that was before.
class AccessHistory {
 public:
  // Visits the uses of bytes of `access` that it must not run beside: writes, and if it writes, reads.
  using Visit = std::function<void(const Use& earlier, bool writes, const ByteRange& shared)>;
  void visit_conflicts(const Access& access, const Visit& visit) const;
  void add(const Access& access, const Use& use);
  // Forgets uses that everything to come is ordered behind.
  void forget(const std::function<bool(const Use&)>& is_past);
  size_t size() const { return ranges_.size(); }

 private:
  struct Uses {
    uintptr_t end = 0;
    std::optional<Use> write;
    std::vector<Use> reads;
  };
  using Ranges = std::map<uintptr_t, Uses>;  // by the first byte; they do not overlap

  Ranges::const_iterator first_behind(uintptr_t address) const;
  void split(uintptr_t at);
  void fill(const ByteRange& range);

  Ranges ranges_;
};

}  // namespace vernier::simulated
