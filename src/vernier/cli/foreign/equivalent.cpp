#include "vernier/cli/foreign/equivalent.h"

#include "vernier/backends/process/onnxruntime.h"
#include "vernier/data/input_shapes.h"

namespace vernier {

namespace {

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
  return plain ? word : quoted_for_shell(word);
}

// Shells leave quotes that are escaped or that stand inside others.
std::string without_quotes(const std::string& name) {
  const bool quoted = name.size() > 1 && (name[0] == '\'' || name[0] == '"') && name.back() == name[0];
  return quoted ? name.substr(1, name.size() - 2) : name;
}

}  // namespace

std::string shell_text(const std::vector<CommandWords>& commands) {
  std::string text;
  for (const CommandWords& words : commands) {
    text += text.empty() ? "vernier" : " && vernier";
    for (const std::string& word : words) text += " " + shell_word(word);
  }
  return text;
}

std::string equivalent_text(const std::vector<CommandWords>& commands,
                            const std::vector<std::string>& notes) {
  std::string text = commands.empty() ? "" : fmt::format("equivalent: {}\n", shell_text(commands));
  for (const std::string& note : notes) text += fmt::format("note: {}\n", note);
  return text;
}

int run_commands(std::vector<CommandWords> commands, const CommandObserver* observer) {
  for (CommandWords& words : commands) {
    if (const int status = run_program(std::move(words), observer); status != 0) return status;
  }
  return 0;
}

std::vector<std::pair<std::string, std::string>> split_sizes(const std::string& text) {
  const auto sets = parse_shapes({text});
  if (sets.size() != 1) throw usage_error("'{}' gives the sizes of an input twice", text);
  std::vector<std::pair<std::string, std::string>> sizes;
  for (const auto& [name, dims] : sets[0])
    sizes.emplace_back(without_quotes(name), fmt::format("{}", fmt::join(dims, "x")));
  return sizes;
}

}  // namespace vernier
