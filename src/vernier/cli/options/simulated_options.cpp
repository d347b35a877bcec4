#include "vernier/cli/options/simulated_options.h"

#include "vernier/backends/simulated/driver.h"

namespace vernier {

std::string simulated_help() {
  return "Of a simulated accelerator (--simulated), beside those of engines:\n"
         "  --lacks OPERATOR,…                          what it leaves to the CPU\n"
         "  --streams N                                 how many queues it has (default: 2)\n"
         "  --inject-fault drop-wait:K|drop-copy:K      its K-th wait or copy, from 0, is left out\n";
}

std::shared_ptr<const Driver> simulated_driver(const RunnerSpec& spec) {
  std::map<std::string, std::string> texts;
  if (!spec.argument.empty()) texts["seed"] = spec.argument;
  for (const char* name : {kStreamsOption, kLacksOption}) {
    if (const auto found = spec.options.find(name); found != spec.options.end()) texts.insert(*found);
  }
  simulated::SimulatedOptions options = simulated::parse_options(texts);
  if (const auto found = spec.options.find(kFaultOption); found != spec.options.end())
    options.fault = simulated::parse_device_fault(found->second);
  return simulated::make_driver(options);
}

}  // namespace vernier
