#include "vernier/cli/options/engine_help.h"

#include <sstream>

#include "vernier/cli/options/runner_options.h"
#include "vernier/engine/named_options.h"

namespace vernier {

namespace {

constexpr size_t kOptionColumn = 46;

}  // namespace

std::string help_lines(const std::string& option, std::string_view does, size_t column) {
  constexpr size_t kWidth = 110;
  std::string lines, line = "  " + option;
  const auto start_line = [&] {
    lines += line + "\n";
    line = std::string(column, ' ');
  };
  line = fmt::format("{:<{}}", line, column);
  if (!line.ends_with(' ')) start_line();
  std::istringstream words{std::string(does)};
  for (std::string word; words >> word;) {
    if (line.size() + word.size() > kWidth) start_line();
    line += (line.ends_with(' ') ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string option_lines(const char* name, std::string_view value, std::string_view does) {
  return help_lines(fmt::format("--{}{}{}", name, value.empty() ? "" : " ", value), does, kOptionColumn);
}

std::string word_of(const AcceleratorKind& kind) {
  std::string number = kind.number;
  std::transform(number.begin(), number.end(), number.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return fmt::format("--{}[={}]", kind.name, number);
}

std::string accelerators_help() {
  std::string help;
  for (const AcceleratorKind* kind : accelerator_kinds()) {
    help += fmt::format("Of {} (--{}), beside those of engines:\n", kind->device, kind->name);
    for (const auto& option : kind->options) help += option_lines(option.name, option.value, option.help);
  }
  return help;
}

std::string named_options_help(bool only_types) {
  std::string help;
  for (const NamedOption& option : named_options()) {
    if (!only_types || option.says_types) help += option_lines(option.name, option.value, option.help);
  }
  return help;
}

std::string engine_help() {
  return named_options_help(false) +
         option_lines(kIsaOption, "avx2|avx512|amx",
                      "instruction sets that all engines of this command use at most (default: what the "
                      "processor has)");
}

std::string built_engine_help() {
  std::string help = "Options of the engine:\n" + engine_help();
  for (const AcceleratorKind* kind : accelerator_kinds())
    help += help_lines(word_of(*kind),
                       fmt::format("not for the CPU alone, but for {}; the options follow it", kind->device),
                       kOptionColumn);
  return help + accelerators_help();
}

}  // namespace vernier
