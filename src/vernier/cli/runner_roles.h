// Which runners of a command line are looked into, and with which one they are compared.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "vernier/cli/options/runner_options.h"

namespace vernier {

// Without `against`, engines are compared with the reference.
struct RunnerRoles {
  std::vector<const RunnerSpec*> engines;
  const RunnerSpec* against = nullptr;
};

// Gives the name that reports call it by, as far as the command line tells: "onnxruntime=cuda"; of --runner
// its NAME.
std::string runner_name(const RunnerSpec& spec);

// --against NAME, of verbs that look into engines.
void declare_against(CLI::App& app, std::string& against);

// `against` is the name of one of the runners, or "". Throws usage_error where that is no runner, where there
// is more than one to compare with, and where no engine is left, saying for what (`purpose`: "diagnose").
RunnerRoles roles_of(const std::vector<RunnerSpec>& specs, const std::string& against,
                     const std::string& purpose);

}  // namespace vernier
