// The precision options that follow a runner.
#pragma once

#include "vernier/cli/options/runner_options.h"
#include "vernier/precision/options.h"

namespace vernier {

// Names of the options; true: with a value.
const std::map<std::string, bool>& precision_option_names();
// Texts for --help: the options that say types, and all.
std::string types_help();
std::string precision_help();

// Throws usage_error for values that are none.
PrecisionOptions parse_precision_options(const RunnerSpec& spec);

}  // namespace vernier
