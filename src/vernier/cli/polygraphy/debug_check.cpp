// Reads what --check of `polygraphy debug` asks for, where a comparison of ours gives the answer.
#include <fmt/format.h>

#include <algorithm>

#include "vernier/base/error.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

CommandWords take_check(CommandWords& words) {
  const auto check = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "--check" || word == "--check-inference";
  });
  if (check == words.end()) return {};
  CommandWords asked(check + 1, words.end());
  if (asked.empty()) throw usage_error("--check lacks its command").advise("--check PROGRAM ARGUMENTS");
  words.erase(check, words.end());
  return asked;
}

void complete_debug(const std::string& name, PolygraphyCommand& command) {
  PolygraphyDebug& debug = command.debug;
  if (debug.artifact.empty() && name != "debug repeat")
    debug.artifact = name == "debug reduce" ? "polygraphy_debug.onnx" : "polygraphy_debug.engine";
  if (name != "debug build" && name != "debug repeat") return;
  if (debug.check.empty() || (name == "debug build" && debug.checks_by_polygraphy()))
    throw unsupported(
        "polygraphy {} has no counterpart here unless --check names a program: {}", name,
        name == "debug build"
            ? "kernels are verified one by one while an engine is tuned: `vernier build --opt-level 4`"
            : "`vernier diagnose` repeats runs and tells what changes between them");
  if (debug.until.empty())
    throw usage_error("polygraphy {}: --until is missing", name)
        .advise("add --until good, --until bad, or --until NUMBER");
}

void obey_check(const std::string& name, PolygraphyCommand& command, ForeignArguments& arguments) {
  const CommandWords asked(command.debug.check.begin() + 2, command.debug.check.end());
  CommandWords own_inputs = std::exchange(command.load_inputs, {});
  const auto inner =
      take_foreign_options({"polygraphy run", true, true}, asked, polygraphy_options("run", command));
  if (command.load_inputs.empty()) command.load_inputs = std::move(own_inputs);
  if (inner.positional.size() > 1)
    throw usage_error("--check polygraphy run takes one model, and '{}' is too many", inner.positional[1]);
  for (const std::string& note : inner.notes) {
    auto& notes = arguments.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
  arguments.own.insert(arguments.own.end(), inner.own.begin(), inner.own.end());
  std::string refused;
  const auto refuse = [&](bool is_given, const char* option, const char* reason) {
    if (is_given) refused += fmt::format("{}{} ({})", refused.empty() ? "" : "; ", option, reason);
  };
  refuse(!command.save_inputs.empty(), "--save-inputs", "no samples are written");
  refuse(!command.save_results.empty(), "--save-outputs", "no results are written");
  refuse(command.validate, "--validate", "NaN and Inf are right where the reference has them, too");
  refuse(!command.debug.artifacts.empty(), "--artifacts", "no step is sorted into good and bad ones");
  if (!refused.empty())
    throw unsupported("polygraphy {} options have no counterpart here: {}", name, refused)
        .advise("leave them out, or ask a program of yours by --check PROGRAM");
  if (!command.load_results.empty())
    command.notes.emplace_back("the results that --check loads are not needed: the reference is computed");
  if (command.layers)
    command.notes.emplace_back(
        "--trt-outputs and --onnx-outputs of --check are not needed: inner values are "
        "looked into in any case");
}

void note_unused_steps(const PolygraphyDebug& debug, ForeignArguments& arguments) {
  for (const std::string& option : debug.searching)
    arguments.notes.push_back(option +
                              " is ignored: experiments are chosen by what they tell, not by a fixed order");
  for (const std::string& option : debug.asking)
    arguments.notes.push_back(option + " is ignored: the verdict is a comparison with the reference");
}

}  // namespace vernier
