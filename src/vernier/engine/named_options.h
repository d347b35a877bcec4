// The options of an engine that have a name, a row each: the command line, C++, C and engine files read them
// by it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vernier/engine/build_options.h"

namespace vernier {

struct NamedOption {
  const char* name;   // "keep-fp32"
  const char* value;  // what --help calls its value, "PATTERN"; "": a flag
  bool says_types;    // it says which types are computed in, as a written graph may
  const char* help;
  // Throws usage_error for a value that is none. A flag gets no value.
  void (*set)(const std::string& value, BuildOptions& options);
  // Gives the value that an engine file keeps, "" for a flag; nothing where it is as by default. Null: the
  // graph or the precision plan of the file says what the option did, or it concerns the build alone.
  std::optional<std::string> (*recorded)(const BuildOptions& options) = nullptr;

  bool is_flag() const { return *value == '\0'; }
};

// In the order of --help.
std::span<const NamedOption> named_options();
// Null: there is none of this name.
const NamedOption* find_named_option(std::string_view name);

// Sets options in the order of the table: of layers, the last pattern that matches counts. A flag is "" or
// "1", or "0", which leaves it as it is. Throws usage_error for a name or a value that is none.
void set_named_options(const std::map<std::string, std::string>& values, BuildOptions& options);

}  // namespace vernier
