#include "vernier/backends/simulated/driver.h"

#include <charconv>

#include "vernier/backends/simulated/simulated_backend.h"
#include "vernier/base/error.h"

namespace vernier::simulated {

namespace {

class SimulatedDriver : public Driver {
 public:
  explicit SimulatedDriver(SimulatedOptions options) : options_(std::move(options)) {}

  const std::string& name() const override { return name_; }
  std::string instruction_sets() const override { return "none"; }
  std::string library_versions() const override { return "the reference"; }
  bool computes_bf16() const override { return false; }
  GroupTraits group_traits() const override { return {}; }
  const std::set<std::string>& tactic_names() const override { return tactics_; }
  std::set<std::string> approximate_tactics() const override { return {}; }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    if (fault)
      throw usage_error("the kernels of the simulated accelerator have no faults, but its queues may");
    return std::make_unique<SimulatedBackend>(options_);
  }

 private:
  SimulatedOptions options_;
  std::string name_ = "simulated";
  std::set<std::string> tactics_;
};

constexpr std::pair<DeviceFault::Kind, const char*> kFaults[] = {{DeviceFault::Kind::kDropWait, "drop-wait"},
                                                                 {DeviceFault::Kind::kDropCopy, "drop-copy"}};

}  // namespace

std::shared_ptr<const Driver> make_driver(const SimulatedOptions& options) {
  return std::make_shared<SimulatedDriver>(options);
}

DeviceFault parse_device_fault(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string index = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const auto& [kind, name] : kFaults) {
    DeviceFault fault{kind, 0};
    if (text.substr(0, colon) != name) continue;
    const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), fault.index);
    if (error == std::errc() && end == index.data() + index.size()) return fault;
  }
  throw usage_error("'{}' is no fault of the simulated accelerator", text)
      .advise("there are drop-wait:K and drop-copy:K, of the K-th from 0");
}

}  // namespace vernier::simulated
