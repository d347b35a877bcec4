#include <fmt/ranges.h>

#include <filesystem>

#include "vernier/base/error.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/polygraphy/closing_lines.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"
#include "vernier/cli/process_end.h"

namespace vernier {

namespace {

using Table = std::vector<ForeignOption>;

struct Subcommand {
  const char* name;     // "debug precision"
  const char* becomes;  // a verb of ours; or why there is none
  bool is_mapped;
  bool tells_end = false;  // whether Polygraphy prints how it ended
};

constexpr const char* kNoGraphs = "graphs are not edited; `vernier export` writes a model again";
constexpr const char* kNoScripts =
    "no Python scripts are made; the equivalent command line of `polygraphy run` is printed";
constexpr const char* kNoPlugins =
    "plugins of TensorRT are compiled for its interface and for CUDA; `vernier run --runner NAME=COMMAND` "
    "compares a program of yours that loads them";

constexpr Subcommand kSubcommands[] = {
    {"run", "run", true, true},
    {"convert", "build, or export for --convert-to onnx", true},
    {"inspect model", "inspect", true},
    {"inspect data", "inspect", true},
    {"inspect capability", "build --no-verify -v, which lists the nodes that no kernel takes", true},
    {"check lint", "check", true, true},
    {"debug precision", "diagnose; with a program as --check, the fewest nodes that it wants in float", true,
     true},
    {"debug reduce", "reduce; with a program as --check, the smallest model on which it fails", true, true},
    {"debug build", "build, again and again, until the program of --check says what --until waits for", true,
     true},
    {"debug repeat", "the command of --check, again and again, until it says what --until waits for", true,
     true},
    {"check accuracy",
     "its files hold no outputs; judge those of --save-outputs again, by `polygraphy run --load-outputs` "
     "with "
     "other tolerances",
     false},
    {"inspect tactics", "`vernier inspect ENGINE --show layers` lists the kernel of every step", false},
    {"inspect diff-tactics", "`vernier inspect ENGINE --diff OTHER` compares the kernels of two engines",
     false},
    {"inspect sparsity", "no kernel uses sparse weights", false},
    {"surgeon", kNoGraphs, false},
    {"template", kNoScripts, false},
    {"data", "recorded runs hold their inputs' hashes: give the results to `polygraphy run --load-outputs`",
     false},
    {"plugin", kNoPlugins, false},
    {"multi-device", "engines run on one device; build one for each part of the model", false},
};

std::string help_text() {
  std::string text =
      "vernier polygraphy SUBCOMMAND …: a command line of Polygraphy, run by Vernier.\n"
      "Its subcommands, and what they become (SUBCOMMAND --help says it of every option):\n";
  for (const Subcommand& each : kSubcommands)
    text += fmt::format("  {:<22} {}{}\n", each.name, each.is_mapped ? "" : "refused: ", each.becomes);
  return text;
}

// Takes the words of the subcommand off the front.
const Subcommand& take_subcommand(CommandWords& words) {
  for (const Subcommand& each : kSubcommands) {
    const std::string name = each.name;
    const size_t space = name.find(' ');
    const bool fits =
        words[0] == name.substr(0, space) &&
        (space == std::string::npos || (words.size() > 1 && words[1] == name.substr(space + 1)));
    if (!fits) continue;
    words.erase(words.begin(), words.begin() + (space == std::string::npos ? 1 : 2));
    return each;
  }
  CommandWords names;
  for (const Subcommand& each : kSubcommands) names.emplace_back(each.name);
  throw usage_error("polygraphy has no '{}'", words.size() > 1 ? words[0] + " " + words[1] : words[0])
      .advise(fmt::format("there are: {}", fmt::join(names, ", ")));
}

void set_positional(const Subcommand& subcommand, const CommandWords& positional,
                    PolygraphyCommand& command) {
  if (positional.size() > 1)
    throw usage_error("polygraphy {} takes one model, and '{}' is too many", subcommand.name, positional[1]);
  if (!positional.empty()) command.model = positional[0];
}

CommandWords joined(CommandWords words, const CommandWords& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<CommandWords> equivalent_of(const std::string& name, PolygraphyCommand& command) {
  if (name == "run") return {equivalent_of_run(command)};
  if (name == "convert") return equivalent_of_convert(command);
  if (name.starts_with("debug")) {
    if (!is_checked_by_program(name, command.debug))
      return {equivalent_of_debug(name == "debug reduce" ? "reduce" : "diagnose", command)};
    if (name == "debug reduce" || name == "debug repeat") return {};
    return {artifact_build_words(command, "")};
  }
  if (command.model.empty()) throw usage_error("polygraphy {}: no file is given", name);
  if (name == "inspect capability") return {{"build", command.model, "--no-verify", "-v"}};
  if (name == "check lint") {
    if (draws_inputs(command) || (command.load_inputs.empty() && !command.shapes.empty()))
      command.notes.emplace_back("no inputs are drawn: --load-inputs adds the hazards that show in data");
    CommandWords words = {"check", command.model};
    for (const std::string& file : command.load_inputs) words.insert(words.end(), {"--data", file});
    if (!command.load_inputs.empty() && !command.shapes.empty())
      words.insert(words.end(), {"--shapes", command.shapes});
    if (!command.output.empty()) words.insert(words.end(), {"--json", command.output});
    return {words};
  }
  CommandWords words = {"inspect", command.model};
  if (!command.show.empty())
    words.insert(words.end(), {"--show", fmt::format("{}", fmt::join(command.show, ","))});
  return {words};
}

bool runs_tensorrt(const std::vector<CommandWords>& commands) {
  return std::any_of(commands.begin(), commands.end(), [](const CommandWords& words) {
    return std::find(words.begin(), words.end(), "--tensorrt") != words.end();
  });
}

// Adds what the user should know before it runs.
void add_notes(const std::string& name, const PolygraphyCommand& command, ForeignArguments& arguments,
               const std::vector<CommandWords>& commands) {
  auto& notes = arguments.notes;
  notes.insert(notes.end(), command.notes.begin(), command.notes.end());
  // The notes name what is done besides the equivalent.
  if (command.validate) notes.emplace_back("--validate: NaN or Inf in an output fails");
  for (const auto& [what, file] :
       {std::pair("samples", command.save_inputs), {"results", command.save_results}}) {
    if (!file.empty())
      notes.push_back(fmt::format("the {} are written to {} as Polygraphy's JSON", what, file));
  }
  if (name.starts_with("debug") && is_checked_by_program(name, command.debug))
    notes.push_back(fmt::format("'{}' is asked at every step, and what it says is the verdict",
                                fmt::join(command.debug.check, " ")));
  if (name == "convert" && commands[0][0] == "build")
    notes.emplace_back(
        "the engine is Vernier's, for the CPU, where Polygraphy builds one of TensorRT for a GPU");
  const bool is_ours = command.build.stand_in == "cpu" || name == "convert";
  if (is_ours && command.build.int8 && command.build.calibration.empty()) notes.emplace_back(kNoRanges);
  const bool stands_in =
      command.build.stand_in == "cpu" &&
      (name.starts_with("debug") ||
       std::find(command.runners.begin(), command.runners.end(), "trt") != command.runners.end());
  if (stands_in) notes.emplace_back("Vernier's CPU engine takes the place of TensorRT");
  if (runs_tensorrt(commands))
    notes.emplace_back(
        "without TensorRT's Python package, --stand-in cpu runs the same with Vernier's CPU engine");
}

// As a shell would run it: what Polygraphy's own files hold, Vernier keeps in recorded runs.
std::vector<CommandWords> shown(const PolygraphyCommand& command, std::vector<CommandWords> commands) {
  const bool records =
      !command.save_results.empty() && command.runners.size() == 1 && command.load_results.empty();
  if (records) commands[0].insert(commands[0].end(), {"--save-run", "outputs.run"});
  return commands;
}

// Whether the words ask for help or for the equivalent alone; what is behind --check is another command's.
bool asks_for_no_run(const CommandWords& words) {
  for (const std::string& word : words) {
    if (word == "--check" || word == "--check-inference") return false;
    if (word == "--help" || word == "-h" || word == "--print-only") return true;
  }
  return false;
}

struct ReadCommand {
  std::string name;
  PolygraphyCommand command;
  std::vector<CommandWords> commands;
  bool print_only = false, help = false;
};

std::string help_of(const Subcommand& subcommand, const Table& options) {
  return fmt::format("vernier polygraphy {}: {}\nWhat its options become:\n{}", subcommand.name,
                     subcommand.becomes, foreign_help(options));
}

void read_command(const Subcommand& subcommand, CommandWords words, ReadCommand& to) {
  PolygraphyCommand& command = to.command;
  to.name = subcommand.name;
  const Table options = polygraphy_options(to.name, command);
  const bool is_debug = to.name.starts_with("debug");
  if (is_debug) command.debug.check = take_check(words);
  ForeignArguments arguments = take_foreign_options({"polygraphy " + to.name, true, true}, words, options);
  if (arguments.help) {
    print(help_of(subcommand, options));
    to.help = true;
    return;
  }
  if (is_debug) complete_debug(to.name, command);
  if (is_debug && !is_checked_by_program(to.name, command.debug)) {
    if (command.debug.checks_by_polygraphy()) obey_check(to.name, command, arguments);
    note_unused_steps(command.debug, arguments);
  }
  set_positional(subcommand, arguments.positional, command);
  command.own = arguments.own;
  to.commands = equivalent_of(to.name, command);
  if (!to.commands.empty())
    to.commands.back() = joined(std::move(to.commands.back()), arguments.own);
  else if (!arguments.own.empty())
    throw usage_error("polygraphy {} with a program runs no command of Vernier that could take '{}'", to.name,
                      arguments.own[0]);
  add_notes(to.name, command, arguments, to.commands);
  print(equivalent_text(shown(command, to.commands), arguments.notes));
  to.print_only |= arguments.print_only;
}

int execute(const ReadCommand& read) {
  if (read.name == "run") return execute_run(read.command, read.commands[0]);
  if (is_checked_by_program(read.name, read.command.debug)) return execute_debug(read.name, read.command);
  return run_commands(read.commands);
}

}  // namespace

int run_polygraphy(const CommandWords& given) {
  CommandWords words = given;
  // In front of all, too: what follows --check belongs to another command.
  const bool print_only = !words.empty() && words[0] == "--print-only";
  if (print_only) words.erase(words.begin());
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    print(help_text());
    return 0;
  }
  if (words[0] == "--version" || words[0] == "-v") {
    print(fmt::format("Vernier {}, for command lines of Polygraphy\n", VERNIER_VERSION));
    return 0;
  }
  const Subcommand& subcommand = take_subcommand(words);
  if (!subcommand.is_mapped)
    throw unsupported("polygraphy {} has no counterpart here: {}", subcommand.name, subcommand.becomes);
  const bool only_looks = print_only || asks_for_no_run(words);
  std::optional<PolygraphyClosing> closing;
  if (subcommand.tells_end && !only_looks) closing.emplace(given);
  try {
    ReadCommand read;
    read_command(subcommand, words, read);
    const int status = print_only || read.print_only || read.help ? 0 : execute(read);
    return closing ? closing->close(status) : status;
  } catch (...) {
    if (closing) closing->close(1);  // whatever went wrong
    throw;
  }
}

std::function<int()> declare_polygraphy(CLI::App& app, CommonOptions& /*common*/) {
  app.prefix_command();  // its options are read before this parser is asked
  return [] { return 0; };
}

}  // namespace vernier
