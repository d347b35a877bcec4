#include "vernier/cli/options/engine_options.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/cli/options/cuda_options.h"
#include "vernier/cli/options/precision_options.h"
#include "vernier/cli/options/simulated_options.h"

namespace vernier {

namespace {

bool is_allowed(const std::string& option, const RunnerSpec& spec) {
  static const std::set<std::string> general = {kFaultOption, kDeterministicOption, kForceTacticOption,
                                                kIsolateTrialsOption, kIsaOption};
  static const std::set<std::string> simulated = {kLacksOption, kStreamsOption},
                                     cuda = {kLacksOption, kCudaPathOption};
  return general.contains(option) || precision_option_names().contains(option) ||
         (spec.kind == kSimulated && simulated.contains(option)) ||
         (spec.kind == kCuda && cuda.contains(option));
}

}  // namespace

BuildOptions engine_options(const RunnerSpec& spec) {
  for (const auto& [name, value] : spec.options) {
    if (!is_allowed(name, spec))
      throw usage_error("--{} does not apply to --{}", name, spec.kind)
          .advise("runner options belong to the runner before them");
  }
  const auto given = [&](const char* name) { return spec.options.contains(name); };
  BuildOptions options;
  options.precision = parse_precision_options(spec);
  options.deterministic = given(kDeterministicOption);
  options.tune.isolate = given(kIsolateTrialsOption);
  if (spec.kind == kSimulated)
    options.accelerators = {simulated_driver(spec)};
  else if (spec.kind == kCuda)
    options.accelerators = {cuda_driver(spec)};
  else if (given(kFaultOption))
    options.fault = parse_fault(spec.options.at(kFaultOption), cpu::tactic_names());
  if (given(kForceTacticOption)) options.tune.forced = spec.options.at(kForceTacticOption);
  return options;
}

}  // namespace vernier
