#include "vernier/backends/simulated/driver.h"

#include <charconv>

#include "vernier/backends/shared/faults/device_fault.h"
#include "vernier/backends/simulated/simulated_backend.h"
#include "vernier/base/error.h"
#include "vernier/ops/op_def.h"

namespace vernier::simulated {

namespace {

class SimulatedDriver : public Driver {
 public:
  explicit SimulatedDriver(SimulatedOptions options) : options_(std::move(options)) {}

  const std::string& name() const override { return name_; }
  std::string number() const override { return std::to_string(options_.seed); }
  std::string instruction_sets() const override { return "none"; }
  std::string library_versions() const override { return "the reference"; }
  bool computes_bf16() const override { return false; }
  bool computes_tf32() const override { return true; }
  GroupTraits group_traits() const override { return {}; }
  const std::set<std::string>& tactic_names() const override { return tactics_; }
  std::set<std::string> approximate_tactics() const override { return {}; }
  std::map<std::string, std::string> options() const override {
    std::map<std::string, std::string> all = {{"number", number()},
                                              {"streams", std::to_string(options_.streams)}};
    if (!options_.captures) all["no-capture"] = "";
    if (options_.tactics) all["two-tactics"] = "";
    if (!options_.lacks.empty()) all["lacks"] = fmt::format("{}", fmt::join(options_.lacks, ","));
    return all;
  }
  bool is_faulty() const override { return options_.fault.has_value(); }
  std::unique_ptr<FaultableBackend> make(const std::optional<FaultSpec>& fault) const override {
    return std::make_unique<SimulatedBackend>(options_, fault);
  }

 private:
  SimulatedOptions options_;
  std::string name_ = kName;
  std::set<std::string> tactics_ = {kTwice};
};

}  // namespace

std::shared_ptr<const Driver> make_driver(const SimulatedOptions& options) {
  return std::make_shared<SimulatedDriver>(options);
}

namespace {

// These faults can be injected into its queues. Sessions free nothing while work is queued, so memory that is
// freed early is for tests of the device alone.
const std::set<DeviceFault::Kind> kDeviceFaults = {
    DeviceFault::Kind::kDropWait, DeviceFault::Kind::kDropCopy, DeviceFault::Kind::kStaleReplay,
    DeviceFault::Kind::kWrongTactic, DeviceFault::Kind::kLoseDevice};

uint64_t parse_number(const std::string& option, const std::string& text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw usage_error("{} of a simulated accelerator is a number from {} to {}, which '{}' is not", option,
                      least, most, text);
  return value;
}

bool is_operator(const std::string& name) {
  const size_t colons = name.find("::");
  const std::string domain = colons == std::string::npos ? "" : name.substr(0, colons);
  return ops::OpRegistry::instance().find(
             domain, colons == std::string::npos ? name : name.substr(colons + 2)) != nullptr;
}

std::set<std::string> operators(const std::string& text) {
  std::set<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (!is_operator(name))
      throw usage_error("there is no operator '{}' that a simulated accelerator could lack", name);
    names.insert(name);
    begin = end + 1;
  }
  return names;
}

std::shared_ptr<const Driver> make(const std::map<std::string, std::string>& options) {
  constexpr uint64_t kMostStreams = 64;
  SimulatedOptions parsed;
  for (const auto& [name, value] : options) {
    if (name == "number")
      parsed.seed = parse_number("the seed", value, 0, UINT64_MAX);
    else if (name == "streams")
      parsed.streams = static_cast<int>(parse_number(name, value, 1, kMostStreams));
    else if (name == "no-capture")
      parsed.captures = false;
    else if (name == "two-tactics")
      parsed.tactics = true;
    else if (name == "lacks")
      parsed.lacks = operators(value);
    else if (name == "inject-fault")
      parsed.fault = parse_device_fault(value, kDeviceFaults);
    else
      throw usage_error("a simulated accelerator has no option '{}'", name);
  }
  return make_driver(parsed);
}

}  // namespace

const AcceleratorKind& accelerator_kind() {
  static const AcceleratorKind kind{
      kName,
      "seed",
      "an accelerator in software",
      {{"lacks", "OPERATOR,…", "what it leaves to the CPU"},
       {"streams", "N", "how many queues it has (default: 2)"},
       {"no-capture", "", "enqueues each step at each run, and replays nothing"},
       {"inject-fault", "drop-wait:K|drop-copy:K|stale-replay:K|lose-device:K",
        "its K-th wait or copy, from 0, is left out, its K-th replay is an old one, or its K-th kernel loses "
        "it; see docs/fault-injection.md"},
       {"inject-fault", "wrong-tactic:K",
        "contractions can be computed twice, and the K-th kernel that does so is wrong"}},
      make};
  return kind;
}

}  // namespace vernier::simulated
