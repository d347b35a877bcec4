// Texts of --help on engines and what they run on.
#pragma once

#include <string>
#include <string_view>

#include "vernier/backends/installed/drivers.h"

namespace vernier {

// Lines: an option, and what it does, which begins at the column.
std::string help_lines(const std::string& option, std::string_view does, size_t column);
// The same for "--name value", in the column that options share.
std::string option_lines(const char* name, std::string_view value, std::string_view does);
// "--cuda[=GPU]"
std::string word_of(const AcceleratorKind& kind);

// The options that have a name (engine/named_options.h), or those of them that say types.
std::string named_options_help(bool only_types);
// All of an engine, and all of one that a verb builds.
std::string engine_help();
std::string built_engine_help();
// The options of each kind of accelerator.
std::string accelerators_help();

}  // namespace vernier
