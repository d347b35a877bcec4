#include "vernier/backends/shared/faults/device_fault.h"

#include <charconv>

#include "vernier/base/error.h"

namespace vernier {

namespace {

constexpr std::pair<DeviceFault::Kind, const char*> kNames[] = {
    {DeviceFault::Kind::kDropWait, "drop-wait"},
    {DeviceFault::Kind::kDropCopy, "drop-copy"},
    {DeviceFault::Kind::kStaleReplay, "stale-replay"},
    {DeviceFault::Kind::kWrongTactic, "wrong-tactic"},
    {DeviceFault::Kind::kLoseDevice, "lose-device"}};

}  // namespace

std::optional<DeviceFault> parse_device_fault(const std::string& text,
                                              const std::set<DeviceFault::Kind>& kinds) {
  const size_t colon = text.find(':');
  const std::string index = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const auto& [kind, name] : kNames) {
    if (text.substr(0, colon) != name || !kinds.contains(kind)) continue;
    DeviceFault fault{kind, 0};
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), fault.index);
    if (error == std::errc() && end == index.data() + index.size()) return fault;
    throw usage_error("'{}' lacks a number: {}:0 is the first", text, name).advise("count from 0");
  }
  return std::nullopt;
}

void DeviceFaultCounter::require() const {
  if (!fault_ || seen_ > fault_->index) return;
  throw usage_error("the fault of the device is in its use number {} of that kind, and there were {}",
                    fault_->index, seen_.load())
      .advise("count from 0");
}

}  // namespace vernier
