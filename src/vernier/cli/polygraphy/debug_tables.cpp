// The one place that says what the options of `polygraphy debug` become.
#include <regex>

#include "vernier/base/error.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

namespace {

using enum OptionValues;
using Table = std::vector<ForeignOption>;

std::vector<int> exit_codes(const std::string& option, const CommandWords& words) {
  std::vector<int> codes;
  for (const std::string& word : words) codes.push_back(static_cast<int>(option_number(option, word, -255)));
  return codes;
}

std::string one_of(const std::string& option, const std::string& word, const CommandWords& choices) {
  if (std::find(choices.begin(), choices.end(), word) == choices.end())
    throw usage_error("{}: '{}' is not {}", option, word, fmt::join(choices, " or "));
  return word;
}

void require_regex(const std::string& text) {
  try {
    const std::regex tried(text);
  } catch (const std::regex_error& error) {
    throw usage_error("--fail-regex: '{}' is no regular expression: {}", text, error.what());
  }
}

void set_until(PolygraphyDebug& debug, const std::string& text) {
  if (text != "good" && text != "bad") option_count("--until", text, 1);
  debug.until = text;
}

// How a program is asked, and what its answers mean.
Table check_options(PolygraphyDebug& d) {
  const auto given = [&d](const char* name) { d.asking.emplace_back(name); };
  return {
      mapped_list({"--fail-code", "--fail-returncode", "--fail-codes"}, "exit statuses of --check that fail",
                  [=, &d](const CommandWords& words) {
                    d.fail_codes = exit_codes("--fail-code", words);
                    given("--fail-code");
                  }),
      mapped_list({"--ignore-fail-code", "--ignore-fail-returncode", "--ignore-fail-codes"},
                  "exit statuses of --check that pass",
                  [=, &d](const CommandWords& words) {
                    d.ignored_codes = exit_codes("--ignore-fail-code", words);
                    given("--ignore-fail-code");
                  }),
      mapped_list({"--fail-regex", "--fail-regexes"}, "what --check must print to fail",
                  [=, &d](const CommandWords& words) {
                    for (const std::string& word : words) require_regex(word);
                    d.fail_regexes.insert(d.fail_regexes.end(), words.begin(), words.end());
                    given("--fail-regex");
                  }),
      mapped_flag({"--show-output"}, "the output of --check is printed at every step",
                  [&d] { d.show_output = true; }),
      mapped_flag({"--hide-fail-output"}, "the output of --check is never printed",
                  [&d] { d.hide_fail_output = true; }),
      mapped_list({"--artifacts"}, "files that are moved into good/ or bad/ behind every step",
                  [=, &d](const CommandWords& words) {
                    d.artifacts = words;
                    given("--artifacts");
                  }),
      mapped_value({"--art-dir", "--artifacts-dir"}, "the folder of good/ and bad/",
                   [=, &d](const std::string& folder) {
                     d.artifacts_folder = folder;
                     given("--artifacts-dir");
                   }),
      mapped_value({"--iter-artifact", "--intermediate-artifact"}, "the file that --check looks at",
                   [&d](const std::string& file) { d.artifact = file; }),
      mapped_flag({"--no-remove-intermediate"}, "this file is left there", [&d] { d.keeps_artifact = true; }),
      mapped_value({"--iter-info", "--iteration-info"}, "a JSON file with the number of the step",
                   [=, &d](const std::string& file) {
                     d.iteration_info = file;
                     given("--iteration-info");
                   }),
  };
}

Table search_options(PolygraphyDebug& d) {
  const auto given = [&d](const char* name) { d.searching.emplace_back(name); };
  return {
      mapped_value({"--mode"}, "bisect or linear",
                   [=, &d](const std::string& mode) {
                     given("--mode");
                     d.is_linear = one_of("--mode", mode, {"bisect", "linear"}) == "linear";
                   }),
      mapped_value({"--dir", "--direction"}, "forward or reverse",
                   [=, &d](const std::string& direction) {
                     given("--dir");
                     d.is_reverse = one_of("--dir", direction, {"forward", "reverse"}) == "reverse";
                   }),
      mapped_value({"-p", "--precision"}, "the type of the nodes that are spared",
                   [=, &d](const std::string& type) {
                     given("--precision");
                     d.higher_type =
                         one_of("--precision", type, {"float32", "float16"}) == "float32" ? "fp32" : "fp16";
                   }),
      mapped_value({"--until"}, "good, bad, or a number of steps",
                   [&d](const std::string& until) { set_until(d, until); }),
      refused(
          {"--min-good", "--minimal-good"}, kOne,
          "a model is kept that fails, and none that passes; --artifacts keeps every model that was tried"),
      ignored({"--no-reduce-inputs", "--no-reduce-outputs"}, kNone, "a model is cut on all sides"),
      refused({"--load-debug-replay", "--save-debug-replay"}, kOne,
              "there is no replay: a diagnosis is one command"),
  };
}

}  // namespace

std::vector<ForeignOption> polygraphy_debug_options(PolygraphyCommand& c) {
  // The caller has taken --check and what follows it out of the command line; the row is for --help.
  Table table = {
      mapped_list({"--check", "--check-inference"},
                  "a program: it is run at every step; `polygraphy run`: its comparison is made by us",
                  [&c](const CommandWords& words) { c.debug.check = words; }),
      mapped_list(
          {"--model-input-shapes", "--model-inputs"}, "--shapes",
          [&c](const CommandWords& words) { c.shapes = polygraphy_sizes("--model-input-shapes", words); }),
  };
  for (Table more : {check_options(c.debug), search_options(c.debug)}) {
    for (ForeignOption& row : more) table.push_back(std::move(row));
  }
  return table;
}

bool PolygraphyDebug::checks_by_polygraphy() const {
  return check.size() > 1 && (check[0] == "polygraphy" || check[0].ends_with("/polygraphy")) &&
         check[1] == "run";
}

bool is_checked_by_program(const std::string& name, const PolygraphyDebug& debug) {
  if (debug.check.empty()) return false;
  if (!debug.checks_by_polygraphy() || name == "debug repeat") return true;
  // A comparison of ours knows nothing of exit statuses and of files; our `polygraphy run` is a program, too,
  // and it takes a model, but no engine that lies alone.
  return name == "debug reduce" && !debug.asking.empty();
}

CommandWords artifact_build_words(const PolygraphyCommand& command, const std::string& layer_precisions) {
  PolygraphyCommand asked = command;
  auto& build = asked.build;
  if (!layer_precisions.empty())
    build.layer_precisions += (build.layer_precisions.empty() ? "" : ",") + layer_precisions;
  const std::string artifact = command.debug.artifact;
  if (build.stand_in == "cpu") {
    asked.output = artifact;
    asked.convert_to = "trt";
    CommandWords words = equivalent_of_convert(asked).front();
    words.emplace_back("--no-verify");  // the program is the judge
    return words;
  }
  build.save_engine = artifact;
  CommandWords words = {"run", command.model};
  for (std::string& word : tensorrt_words(build)) words.push_back(std::move(word));
  for (std::string& word : data_words(command)) words.push_back(std::move(word));
  return words;
}

}  // namespace vernier
