#include "vernier/cli/foreign/foreign_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "vernier/base/error.h"

namespace vernier {

namespace {

// Number of characters that are inserted, deleted or replaced between two words.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

std::vector<std::string> names_of(const std::vector<ForeignOption>& options) {
  std::vector<std::string> names = {"--help", "--print-only"};
  for (const ForeignOption& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// A number like -1 is a value, not an option.
bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '.' && !(word[1] >= '0' && word[1] <= '9');
}

class OptionReader {
 public:
  OptionReader(const ForeignTool& tool, const std::vector<ForeignOption>& options)
      : tool_(tool), options_(options) {}

  ForeignArguments read(const CommandWords& words) {
    for (at_ = 0; at_ < words.size(); ++at_) {
      if (words[at_] == "--") {
        result_.own.assign(words.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words.end());
        break;
      }
      if (!is_option(words[at_]))
        result_.positional.push_back(words[at_]);
      else
        read_option(words);
    }
    if (!refusals_.empty() && !result_.help)
      throw unsupported("{} options have no counterpart here: {}", tool_.name, fmt::join(refusals_, "; "));
    return std::move(result_);
  }

 private:
  void read_option(const CommandWords& words) {
    const std::string& word = words[at_];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name == "--help" || name == "-h") {
      result_.help = true;
      return;
    }
    if (name == "--print-only") {
      result_.print_only = true;
      return;
    }
    const ForeignOption& option = find(name);
    const CommandWords values =
        equals == std::string::npos ? following(option, name, words) : CommandWords{word.substr(equals + 1)};
    if (option.values == OptionValues::kNone && !values.empty())
      throw usage_error("{} takes no value, and '{}' gives one", name, word);
    switch (option.fate) {
      case OptionFate::kMapped: option.take(values); break;
      case OptionFate::kIgnored: note(fmt::format("{} is ignored: {}", name, option.meaning)); break;
      case OptionFate::kRefused: refusals_.push_back(fmt::format("{} ({})", name, option.meaning)); break;
    }
  }

  void note(std::string text) {
    auto& notes = result_.notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(std::move(text));
  }

  // Values behind the option, as words of their own.
  CommandWords following(const ForeignOption& option, const std::string& name, const CommandWords& words) {
    CommandWords values;
    if (option.values == OptionValues::kNone) return values;
    const size_t most = option.values == OptionValues::kOne ? 1 : words.size();
    while (tool_.values_follow && values.size() < most && at_ + 1 < words.size() &&
           !is_option(words[at_ + 1]))
      values.push_back(words[++at_]);
    if (values.empty() && option.fate == OptionFate::kMapped)
      throw usage_error("{} lacks its value", name)
          .advise(tool_.values_follow ? name + " VALUE" : "write " + name + "=VALUE");
    return values;
  }

  const ForeignOption& find(const std::string& name) const {
    std::vector<const ForeignOption*> begun;
    for (const ForeignOption& option : options_) {
      for (const std::string& each : option.names) {
        if (each == name) return option;
        if (each.starts_with(name) && (begun.empty() || begun.back() != &option)) begun.push_back(&option);
      }
    }
    if (tool_.abbreviates && name.starts_with("--") && begun.size() == 1) return *begun[0];
    Error error = usage_error("{} has no option '{}'", tool_.name, name);
    if (const std::string nearest = nearest_name(name, names_of(options_)); !nearest.empty())
      error.advise(fmt::format("the nearest is {}", nearest));
    throw error;
  }

  const ForeignTool& tool_;
  const std::vector<ForeignOption>& options_;
  ForeignArguments result_;
  std::vector<std::string> refusals_;
  size_t at_ = 0;  // the word that is read
};

}  // namespace

ForeignOption mapped_flag(std::vector<std::string> names, std::string meaning, std::function<void()> take) {
  return {std::move(names), OptionValues::kNone, OptionFate::kMapped, std::move(meaning),
          [take = std::move(take)](const CommandWords&) { take(); }};
}

ForeignOption mapped_value(std::vector<std::string> names, std::string meaning,
                           std::function<void(const std::string& value)> take) {
  return {std::move(names), OptionValues::kOne, OptionFate::kMapped, std::move(meaning),
          [take = std::move(take)](const CommandWords& values) { take(values.at(0)); }};
}

ForeignOption mapped_list(std::vector<std::string> names, std::string meaning,
                          std::function<void(const CommandWords& values)> take) {
  return {std::move(names), OptionValues::kSeveral, OptionFate::kMapped, std::move(meaning), std::move(take)};
}

ForeignOption ignored(std::vector<std::string> names, OptionValues values, std::string reason) {
  return {std::move(names), values, OptionFate::kIgnored, std::move(reason)};
}

ForeignOption refused(std::vector<std::string> names, OptionValues values, std::string reason) {
  return {std::move(names), values, OptionFate::kRefused, std::move(reason)};
}

ForeignArguments take_foreign_options(const ForeignTool& tool, const CommandWords& words,
                                      const std::vector<ForeignOption>& options) {
  return OptionReader(tool, options).read(words);
}

std::string foreign_help(const std::vector<ForeignOption>& options) {
  constexpr const char* kFates[] = {"", "ignored: ", "refused: "};
  std::string text;
  for (const ForeignOption& option : options)
    text += fmt::format("  {:<34} {}{}\n", fmt::format("{}", fmt::join(option.names, ", ")),
                        kFates[static_cast<size_t>(option.fate)], option.meaning);
  return text +
         "Of Vernier:\n"
         "  --print-only                       prints the equivalent command line and runs nothing\n"
         "  -- WORDS                           are added to Vernier's command\n";
}

double option_number(const std::string& option, const std::string& text, double least) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < least)
    throw usage_error("{}: '{}' is no number from {} up", option, text, least);
  return value;
}

uint64_t option_count(const std::string& option, const std::string& text, uint64_t least) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least)
    throw usage_error("{}: '{}' is no integer from {} up", option, text, least);
  return value;
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kNear = 3;  // more makes another word of it
  std::string nearest;
  size_t least = std::min(kNear + 1, name.size());
  for (const std::string& each : names) {
    const size_t distance = edit_distance(name, each);
    if (distance < least) nearest = each, least = distance;
  }
  return nearest;
}

}  // namespace vernier
