// Defects of whoever uses a device, put in on purpose to see that they are found: a wait, a copy or a capture
// that goes wrong. docs/fault-injection.md describes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace vernier {

struct DeviceFault {
  enum class Kind : uint8_t {
    kDropWait,     // it is as if the wait had not been asked for
    kDropCopy,     // nothing is copied
    kFreeEarly,    // memory that is to be released is freed at once
    kStaleReplay,  // what was captured before, by the same kernels, is replayed at its old addresses
    kWrongTactic,  // the first element of what a kernel of a tactic makes is wrong
    kLoseDevice,   // a kernel does what no device recovers from: nothing works there any more
  };
  Kind kind = Kind::kDropWait;
  // Counts, from 0 and among all of the device, the waits, copies or releases, the captures of kernels that
  // were captured before, the kernels of the tactic, or the runs of kernels.
  size_t index = 0;
};

// "drop-wait:3" of the kinds that a device has; nothing if the text names none of them. Throws usage_error
// for a number that is none.
std::optional<DeviceFault> parse_device_fault(const std::string& text,
                                              const std::set<DeviceFault::Kind>& kinds);

// The fault of one device. Thread-safe.
class DeviceFaultCounter {
 public:
  explicit DeviceFaultCounter(std::optional<DeviceFault> fault = {}) : fault_(fault) {}
  bool expects(DeviceFault::Kind kind) const { return fault_ && fault_->kind == kind; }
  // Whether this use of the device is the one that is to go wrong; counts those of the kind.
  bool strikes(DeviceFault::Kind kind) { return expects(kind) && seen_++ == fault_->index; }
  // Throws usage_error if none of the uses so far was the one.
  void require() const;

 private:
  const std::optional<DeviceFault> fault_;
  std::atomic<size_t> seen_ = 0;
};

}  // namespace vernier
