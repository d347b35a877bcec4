#include "vernier/backends/simulated/driver.h"

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
  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> all = {{"seed", std::to_string(options_.seed)},
                                              {"streams", std::to_string(options_.streams)}};
    if (!options_.lacks.empty()) all["lacks"] = fmt::format("{}", fmt::join(options_.lacks, ","));
    return all;
  }
  bool is_faulty() const override { return options_.fault.has_value(); }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    if (fault)
      throw usage_error("the kernels of the simulated accelerator have no faults, but its queues may");
    return std::make_unique<SimulatedBackend>(options_);
  }

 private:
  SimulatedOptions options_;
  std::string name_ = kName;
  std::set<std::string> tactics_;
};

}  // namespace

std::shared_ptr<const Driver> make_driver(const SimulatedOptions& options) {
  return std::make_shared<SimulatedDriver>(options);
}

}  // namespace vernier::simulated
