#include <numeric>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/cli/foreign/equivalent.h"
#include "vernier/cli/process_end.h"
#include "vernier/cli/trtexec/trtexec_command.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/report/trtexec_report.h"

namespace vernier {

namespace {

std::string help_text(const std::vector<ForeignOption>& options) {
  return "vernier trtexec OPTIONS: a command line of trtexec, run by Vernier's engine on the CPU.\n"
         "What its options become:\n" +
         foreign_help(options);
}

void tell(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) print(trtexec_line('I', line));
}

// The line that trtexec begins and ends with; scripts look for its name in it.
std::string banner(const char* state, CommandWords words) {
  words.insert(words.begin(), "trtexec");
  return fmt::format("&&&& {} TensorRT.trtexec [Vernier v{}] # {}\n", state, VERNIER_VERSION,
                     shell_text({std::move(words)}));
}

class TrtexecRun {
 public:
  explicit TrtexecRun(const TrtexecCommand& command) : command_(command) {}

  int run(const std::vector<CommandWords>& commands) {
    require_engine_of_ours();
    CommandObserver observer;
    observer.bench = [this](const BenchOutcome& outcome) { report(outcome); };
    const int status = run_commands(with_quiet_bench(commands), &observer);
    return status == 0 && !accurate_ ? 1 : status;
  }

 private:
  // Says in trtexec's words what `bench` says, except its audit where types were changed: the command that
  // builds the engine lists what ran in other types than asked for.
  std::vector<CommandWords> with_quiet_bench(std::vector<CommandWords> commands) const {
    const bool builds = command_.load_engine.empty() && commands.size() == 1;
    if (command_.verbose || (builds && command_.changes_types())) return commands;
    for (CommandWords& words : commands) {
      if (words[0] == "bench") words.emplace_back("--quiet");
    }
    return commands;
  }

  void require_engine_of_ours() const {
    if (command_.load_engine.empty()) return;
    MappedFile::open(command_.load_engine);  // what cannot be opened is no file at all
    if (!is_engine_file(command_.load_engine))
      throw bad_input("is no engine file of Vernier; plans of TensorRT run only there")
          .in_file(command_.load_engine)
          .advise("build one from the ONNX model: vernier trtexec --onnx=MODEL --saveEngine=FILE");
  }

  void report(const BenchOutcome& outcome) {
    const auto verdict = outcome.report.environment.find("accuracy");
    if (verdict != outcome.report.environment.end()) {
      accurate_ = verdict->second == "pass" || verdict->second == "not verified";
      print(trtexec_line(accurate_ ? 'I' : 'E', "Accuracy against the reference: " + verdict->second));
    }
    print(trtexec_line('I', "Sample: " + outcome.report.sample));
    tell(trtexec_summary(outcome.seconds, throughput(outcome), command_.percentiles,
                         command_.averages ? command_.average_runs : 0));
    const auto& steps = outcome.report.steps;
    if (command_.dump_layers) tell(trtexec_layers(steps));
    if (command_.dump_profile) tell(trtexec_profile(steps, outcome.report.profile_runs));
    if (command_.dump_output) tell(trtexec_outputs(outcome.outputs));
    write(outcome);
  }

  // Where no time is given to measure it by itself, that of the runs one after the other.
  static double throughput(const BenchOutcome& outcome) {
    if (outcome.report.throughput_per_s > 0) return outcome.report.throughput_per_s;
    const double total = std::accumulate(outcome.seconds.begin(), outcome.seconds.end(), 0.0);
    return total > 0 ? static_cast<double>(outcome.seconds.size()) / total : 0;
  }

  void write(const BenchOutcome& outcome) const {
    const auto& steps = outcome.report.steps;
    if (!command_.export_times.empty())
      write_file(command_.export_times, trtexec_times_json(outcome.seconds));
    if (!command_.export_profile.empty())
      write_file(command_.export_profile, trtexec_profile_json(steps, outcome.report.profile_runs));
    if (!command_.export_layers.empty()) {
      std::vector<std::string> bindings;
      for (const auto& [name, datum] : outcome.inputs) bindings.push_back(name);
      for (const TraceEntry& entry : outcome.outputs.entries) {
        if (entry.is_output) bindings.push_back(entry.value);
      }
      write_file(command_.export_layers, trtexec_layers_json(steps, bindings, command_.detailed));
    }
    if (!command_.export_output.empty())
      write_file(command_.export_output, trtexec_outputs_json(outcome.outputs));
  }

  const TrtexecCommand& command_;
  bool accurate_ = true;
};

int run_words(const CommandWords& words) {
  TrtexecCommand command;
  const auto options = trtexec_options(command);
  ForeignArguments arguments = take_foreign_options({"trtexec"}, words, options);
  if (arguments.help || words.empty()) {
    print(help_text(options));
    return 0;
  }
  if (!arguments.positional.empty())
    throw usage_error("trtexec takes options only, and '{}' is none", arguments.positional[0])
        .advise("write values behind '=': --onnx=FILE");
  const auto commands = vernier_commands(command, arguments.own);
  for (std::string& note : notes_of(command)) arguments.notes.push_back(std::move(note));
  const std::string text = equivalent_text(commands, arguments.notes);
  if (arguments.print_only) {
    print(text);
    return 0;
  }
  print(banner("RUNNING", words) + text +
        "device: the CPU, where trtexec takes a GPU: this version has no CUDA backend\n");
  const int status = TrtexecRun(command).run(commands);
  print(banner(status == 0 ? "PASSED" : "FAILED", words));
  return status;
}

}  // namespace

int run_trtexec(const CommandWords& words) {
  try {
    return run_words(words);
  } catch (...) {
    print(banner("FAILED", words));  // whatever went wrong
    throw;
  }
}

std::function<int()> declare_trtexec(CLI::App& app, CommonOptions& /*common*/) {
  app.prefix_command();  // its options are read before this parser is asked
  return [] { return 0; };
}

}  // namespace vernier
