#include "vernier/base/error.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

namespace {

using enum OptionValues;

// "x:[1, 3,224]" as "x:1x3x224", "x,1x3x224" (an old form) as "x:1x3x224".
std::string one_size(const std::string& option, std::string word) {
  if (std::count(word.begin(), word.end(), '[') > 1)
    throw usage_error("{}: '{}' names several inputs in one word", option, word)
        .advise("put a space between them: NAME:[1,3,224,224] OTHER:[1,4]");
  const size_t bracket = word.rfind('[');
  if (bracket != std::string::npos && word.back() == ']') {
    std::string dims = word.substr(bracket + 1, word.size() - bracket - 2);
    std::erase(dims, ' ');
    std::replace(dims.begin(), dims.end(), ',', 'x');
    word = word.substr(0, bracket) + dims;
  } else if (word.find(':') == std::string::npos && word.rfind(',') != std::string::npos) {
    word[word.rfind(',')] = ':';
  }
  if (word.find("x-") != std::string::npos || word.find(":-") != std::string::npos)
    throw usage_error("{}: '{}' leaves a size open", option, word);
  return word;
}

// Parentheses are brackets to Polygraphy. A range of all inputs gets a colon in front, for a word in brackets
// is a list to the parser of our options.
std::string value_range(std::string word) {
  if (const size_t open = word.rfind('('); open != std::string::npos && word.back() == ')') {
    word[open] = '[';
    word.back() = ']';
  }
  std::erase(word, ' ');
  return word.starts_with('[') ? ":" + word : word;
}

}  // namespace

std::string polygraphy_sizes(const std::string& option, const CommandWords& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + one_size(option, word);
  try {
    split_sizes(text);
  } catch (Error& error) {
    throw usage_error("{}: {}", option, error.message()).advise("write NAME:[1,3,224,224]");
  }
  return text;
}

std::vector<ForeignOption> polygraphy_data_options(PolygraphyCommand& c) {
  constexpr const char* kScript =
      "Python scripts are not run; save what they yield with `polygraphy run --save-inputs`, or as .npz, and "
      "give it to --load-inputs";
  return {
      mapped_value({"--seed"}, "--seed",
                   [&c](const std::string& seed) { c.seed = option_count("--seed", seed, 0); }),
      mapped_value({"--iterations", "--iters"}, "--samples",
                   [&c](const std::string& count) { c.iterations = option_count("--iterations", count, 1); }),
      mapped_list({"--val-range"}, "--val-range",
                  [&c](const CommandWords& words) {
                    for (const std::string& word : words) c.value_ranges.push_back(value_range(word));
                  }),
      mapped_list({"--input-shapes", "--inputs"}, "--shapes",
                  [&c](const CommandWords& words) { c.shapes = polygraphy_sizes("--input-shapes", words); }),
      mapped_list({"--load-inputs", "--load-input-data"}, "--data",
                  [&c](const CommandWords& files) {
                    c.load_inputs.insert(c.load_inputs.end(), files.begin(), files.end());
                  }),
      mapped_list({"--load-outputs", "--load-results"}, "--load-run",
                  [&c](const CommandWords& files) {
                    c.load_results.insert(c.load_results.end(), files.begin(), files.end());
                  }),
      mapped_value({"--save-inputs", "--save-input-data"}, "the samples, as Polygraphy's JSON",
                   [&c](const std::string& file) { c.save_inputs = file; }),
      mapped_value({"--save-outputs", "--save-results"}, "what the runners yield, as Polygraphy's JSON",
                   [&c](const std::string& file) { c.save_results = file; }),
      refused({"--save-input-blob"}, kOne,
              "--save-inputs writes the samples as JSON; tofile() of NumPy makes raw files of them"),
      refused({"--data-loader-script", "--data-loader-func-name"}, kOne, kScript),
      ignored({"--data-loader-backend-module"}, kOne, "samples are made by Vernier itself"),
      refused({"--int-min", "--int-max", "--float-min", "--float-max"}, kOne,
              "write --val-range INPUT:[LOW,HIGH]"),
  };
}

bool draws_inputs(const PolygraphyCommand& command) {
  return command.load_inputs.empty() && (command.seed || command.iterations || !command.value_ranges.empty());
}

CommandWords data_words(const PolygraphyCommand& command) {
  CommandWords words;
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  for (const std::string& file : command.load_inputs) add("--data", file);
  if (!command.load_inputs.empty()) return words;  // all others are about random inputs
  if (command.seed) add("--seed", std::to_string(*command.seed));
  if (command.iterations) add("--samples", std::to_string(*command.iterations));
  for (const std::string& range : command.value_ranges) add("--val-range", range);
  if (!command.shapes.empty()) {
    add("--shapes", command.shapes);
    return words;
  }
  // Polygraphy runs at the smallest sizes of a profile only; so the others are tried, too.
  for (const CommandWords* profiles :
       {&command.build.min_shapes, &command.build.opt_shapes, &command.build.max_shapes}) {
    for (const std::string& sizes : *profiles) {
      if (std::find(words.begin(), words.end(), sizes) == words.end()) add("--shapes", sizes);
    }
  }
  return words;
}

}  // namespace vernier
