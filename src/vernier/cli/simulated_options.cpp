#include "vernier/cli/simulated_options.h"

#include <charconv>

#include "vernier/backends/simulated/driver.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

uint64_t number(std::string_view option, const std::string& text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw usage_error("{} '{}' is not a number from {} to {}", option, text, least, most);
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
    if (!is_operator(name)) throw usage_error("--lacks: there is no operator '{}'", name);
    names.insert(name);
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::string simulated_help() {
  return "Of a simulated accelerator (--simulated), beside those of engines:\n"
         "  --lacks OPERATOR,…                          what it leaves to the CPU\n"
         "  --streams N                                 how many queues it has (default: 2)\n"
         "  --inject-fault drop-wait:K|drop-copy:K      its K-th wait or copy, from 0, is left out\n";
}

std::shared_ptr<const Driver> simulated_driver(const RunnerSpec& spec) {
  constexpr uint64_t kMostStreams = 64;
  simulated::SimulatedOptions options;
  if (!spec.argument.empty()) options.seed = number("--simulated", spec.argument, 0, UINT64_MAX);
  const auto option = [&](const char* name) {
    const auto found = spec.options.find(name);
    return found == spec.options.end() ? nullptr : &found->second;
  };
  if (const auto* streams = option(kStreamsOption))
    options.streams = static_cast<int>(number("--streams", *streams, 1, kMostStreams));
  if (const auto* lacks = option(kLacksOption)) options.lacks = operators(*lacks);
  if (const auto* fault = option(kFaultOption)) options.fault = simulated::parse_device_fault(*fault);
  return simulated::make_driver(options);
}

}  // namespace vernier
