#include "vernier/cli/runner_roles.h"

namespace vernier {

namespace {

// What a report calls it, as far as the command line tells.
bool is_called(const RunnerSpec& spec, const std::string& name) {
  return !name.empty() && (name == spec.kind || name == spec.kind + "=" + spec.argument ||
                           (spec.kind == "runner" && spec.argument.starts_with(name + "=")));
}

}  // namespace

void declare_against(CLI::App& app, std::string& against) {
  app.add_option("--against", against,
                 "the runner that others are compared with, by name, or before it (default: the reference)")
      ->type_name("NAME");
}

RunnerRoles roles_of(const std::vector<RunnerSpec>& specs, const std::string& against,
                     const std::string& purpose) {
  RunnerRoles roles;
  for (const RunnerSpec& spec : specs) {
    const bool is_judge = spec.is_against || is_called(spec, against) ||
                          (against.empty() && spec.kind == "reference" && specs.size() > 1);
    if (!is_judge) {
      roles.engines.push_back(&spec);
      continue;
    }
    if (roles.against != nullptr)
      throw usage_error("--{} is one to compare with too many", spec.kind)
          .advise("--against stands before the one runner that all others are compared with");
    roles.against = &spec;
  }
  if (!against.empty() && roles.against == nullptr)
    throw usage_error("--against '{}' is no runner of this command", against);
  if (roles.engines.empty())
    throw usage_error("no engine to {} is given", purpose)
        .advise("add --cpu, --onnxruntime, --engine, --load-run or --runner");
  return roles;
}

}  // namespace vernier
