#include "vernier/cli/options/engine_options.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/installed/drivers.h"
#include "vernier/engine/named_options.h"

namespace vernier {

namespace {

bool has_option(const AcceleratorKind& kind, const std::string& name) {
  return std::any_of(kind.options.begin(), kind.options.end(),
                     [&](const AcceleratorKind::Option& option) { return name == option.name; });
}

std::shared_ptr<const Driver> driver_of(const AcceleratorKind& kind, const RunnerSpec& spec) {
  std::map<std::string, std::string> options;
  if (!spec.argument.empty()) options["number"] = spec.argument;
  for (const auto& option : spec.options) {
    if (has_option(kind, option.first)) options.insert(option);
  }
  return kind.make(options);
}

// Picks the options that the table of engines has (engine/named_options.h).
std::map<std::string, std::string> named_options_of(const RunnerSpec& spec) {
  std::map<std::string, std::string> named;
  for (const auto& [name, value] : spec.options) {
    if (find_named_option(name) != nullptr) named[name] = value;
  }
  return named;
}

}  // namespace

BuildOptions engine_options(const RunnerSpec& spec) {
  const AcceleratorKind* kind = find_accelerator_kind(spec.kind);
  for (const auto& [name, value] : spec.options) {
    const bool known = find_named_option(name) != nullptr || name == kFaultOption || name == kIsaOption ||
                       (kind != nullptr && has_option(*kind, name));
    if (!known)
      throw usage_error("--{} does not apply to --{}", name, spec.kind)
          .advise("runner options belong to the runner before them");
  }
  BuildOptions options;
  set_named_options(named_options_of(spec), options);
  if (kind != nullptr) options.accelerators = {driver_of(*kind, spec)};
  const auto fault = spec.options.find(kFaultOption);
  if (fault != spec.options.end() && (kind == nullptr || !options.accelerators[0]->is_faulty())) {
    const auto& tactics = kind == nullptr ? cpu::tactic_names() : options.accelerators[0]->tactic_names();
    options.fault = parse_fault(fault->second, tactics);
  }
  return options;
}

}  // namespace vernier
