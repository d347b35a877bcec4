#include <fmt/ranges.h>

#include <filesystem>

#include "vernier/base/error.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"
#include "vernier/cli/process_end.h"

namespace vernier {

namespace {

using Table = std::vector<ForeignOption>;

struct Subcommand {
  const char* name;     // "debug precision"
  const char* becomes;  // a verb of ours; or why there is none
  bool is_mapped;
};

constexpr Subcommand kSubcommands[] = {
    {"run", "run", true},
    {"convert", "build, or export for --convert-to onnx", true},
    {"inspect model", "inspect", true},
    {"inspect data", "inspect", true},
    {"inspect capability", "build --no-verify -v, which lists the nodes that no kernel takes", true},
    {"check lint", "check", true},
    {"debug precision", "diagnose", true},
    {"debug reduce", "reduce", true},
    {"debug build", "kernels are verified one by one while an engine is tuned: `vernier build --opt-level 4`",
     false},
    {"debug repeat", "`vernier diagnose` repeats runs and tells what changes between them", false},
    {"inspect tactics", "`vernier inspect ENGINE --show layers` lists the kernel of every step", false},
    {"inspect diff-tactics", "`vernier inspect ENGINE --diff OTHER` compares the kernels of two engines",
     false},
    {"inspect sparsity", "no kernel uses sparse weights", false},
    {"surgeon", "graphs are not edited; `vernier export` writes a model again", false},
    {"template", "no Python scripts are made", false},
    {"data", "recorded runs hold their inputs' hashes: give the results to `polygraphy run --load-outputs`",
     false},
    {"plugin", "plugins of TensorRT are compiled for its interface and for CUDA", false},
    {"multi-device", "engines run on one device", false},
};

void append(Table& to, Table rows) {
  for (ForeignOption& row : rows) to.push_back(std::move(row));
}

Table output_options(PolygraphyCommand& c) {
  return {mapped_value({"-o", "--output", "--json"}, "-o, or --json of `check lint`",
                       [&c](const std::string& file) { c.output = file; }),
          mapped_value({"--convert-to"}, "onnx: export; trt: build",
                       [&c](const std::string& kind) { c.convert_to = kind; })};
}

// Polygraphy has one set of options for what builds and runs, and smaller ones for what only looks.
Table options_of(const std::string& name, PolygraphyCommand& command) {
  Table table = polygraphy_log_options();
  append(table, output_options(command));
  if (name.starts_with("inspect")) {
    append(table, polygraphy_inspect_options(command));
    append(table, polygraphy_model_options(command));
    return table;
  }
  append(table, polygraphy_model_options(command));
  append(table, polygraphy_data_options(command));
  append(table, polygraphy_build_options(command));
  append(table, polygraphy_runner_options(command));
  append(table, polygraphy_compare_options(command));
  if (name.starts_with("debug")) append(table, polygraphy_debug_options(command));
  return table;
}

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

// `debug` asks a command for its verdict; what it says of data and tolerances holds for the diagnosis.
CommandWords take_check(CommandWords& words) {
  const auto check = std::find(words.begin(), words.end(), "--check");
  if (check == words.end()) return {};
  CommandWords asked(check + 1, words.end());
  words.erase(check, words.end());
  return asked;
}

void obey_check(CommandWords asked, PolygraphyCommand& command) {
  if (asked.empty()) return;
  if (asked.size() < 2 || !asked[0].ends_with("polygraphy") || asked[1] != "run")
    throw unsupported("--check {}: the verdict is a comparison with the reference, not that of a program",
                      fmt::join(asked, " "))
        .advise("write `vernier diagnose MODEL` with the tolerances that the program has");
  asked.erase(asked.begin(), asked.begin() + 2);
  PolygraphyCommand checked;
  take_foreign_options({"polygraphy run", true, true}, asked, options_of("run", checked));
  if (!checked.load_inputs.empty()) command.load_inputs = checked.load_inputs;
  command.runners = checked.runners;
  command.provider = checked.provider;
  command.atol = checked.atol;
  command.rtol = checked.rtol;
  if (command.shapes.empty()) command.shapes = checked.shapes;
  if (!checked.load_results.empty())
    command.notes.emplace_back("the results that --check loads are not needed: the reference is computed");
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
  if (name.starts_with("debug"))
    return {equivalent_of_debug(name == "debug reduce" ? "reduce" : "diagnose", command)};
  if (command.model.empty()) throw usage_error("polygraphy {}: no file is given", name);
  if (name == "inspect capability") return {{"build", command.model, "--no-verify", "-v"}};
  if (name == "check lint") {
    CommandWords words = {"check", command.model};
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

// What the user should know before it runs.
void add_notes(const std::string& name, const PolygraphyCommand& command, ForeignArguments& arguments,
               const std::vector<CommandWords>& commands) {
  auto& notes = arguments.notes;
  notes.insert(notes.end(), command.notes.begin(), command.notes.end());
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
  const Subcommand& subcommand = take_subcommand(words);
  const std::string name = subcommand.name;
  if (!subcommand.is_mapped)
    throw unsupported("polygraphy {} has no counterpart here: {}", name, subcommand.becomes);
  PolygraphyCommand command;
  const Table options = options_of(name, command);
  const CommandWords check = name.starts_with("debug") ? take_check(words) : CommandWords{};
  ForeignArguments arguments = take_foreign_options({"polygraphy " + name, true, true}, words, options);
  if (arguments.help) {
    print(fmt::format("vernier polygraphy {}: {}\nWhat its options become:\n{}", name, subcommand.becomes,
                      foreign_help(options)));
    return 0;
  }
  obey_check(check, command);
  set_positional(subcommand, arguments.positional, command);
  std::vector<CommandWords> commands = equivalent_of(name, command);
  commands.back() = joined(std::move(commands.back()), arguments.own);
  add_notes(name, command, arguments, commands);
  print(equivalent_text(shown(command, commands), arguments.notes));
  if (print_only || arguments.print_only) return 0;
  return name == "run" ? execute_run(command, commands[0]) : run_commands(commands);
}

std::function<int()> declare_polygraphy(CLI::App& app, CommonOptions& /*common*/) {
  app.prefix_command();  // its options are read before this parser is asked
  return [] { return 0; };
}

}  // namespace vernier
