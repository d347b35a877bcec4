#include "vernier/cli/runner_roles.h"

namespace vernier {

namespace {

bool is_called(const RunnerSpec& spec, const std::string& name) {
  return !name.empty() && (name == spec.kind || name == runner_name(spec));
}

}  // namespace

std::string runner_name(const RunnerSpec& spec) {
  if (spec.kind == "runner") return spec.argument.substr(0, spec.argument.find('='));
  return spec.argument.empty() ? spec.kind : spec.kind + "=" + spec.argument;
}

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
  // The default has that name, too.
  if (!against.empty() && against != "reference" && roles.against == nullptr)
    throw usage_error("--against '{}' is no runner of this command", against);
  if (roles.engines.empty())
    throw usage_error("no engine to {} is given", purpose)
        .advise("add --cpu, --onnxruntime, --engine, --load-run or --runner");
  return roles;
}

}  // namespace vernier
