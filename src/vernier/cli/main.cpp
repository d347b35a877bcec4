#include <cmath>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "vernier/base/affinity.h"
#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/base/memory.h"
#include "vernier/base/threads.h"
#include "vernier/cli/checks.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/foreign/foreign_options.h"
#include "vernier/cli/options/page_options.h"
#include "vernier/cli/options/runner_options.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"
#include "vernier/cli/process_end.h"
#include "vernier/cli/trtexec/trtexec_command.h"
#include "vernier/cli/verb.h"
#include "vernier/precision/audit.h"
#include "vernier/report/events.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

namespace {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"inspect", "what a model, a tensor file or a recorded run is made of", declare_inspect},
      {"check", "lint: structural faults and numerical hazards", declare_check},
      {"run", "runs a model with several runners on the same inputs and compares what they yield",
       declare_run},
      {"trtexec", "a command line of trtexec, run by the other verbs", declare_trtexec},
      {"polygraphy", "a command line of Polygraphy, run by the other verbs", declare_polygraphy},
      {"build", "makes an engine of a model, and an engine file", declare_build},
      {"bench", "latency, throughput and memory of the CPU engine, in turn with other runners",
       declare_bench},
      {"calibrate", "the ranges of values that int8 and fp8 quantize, from data", declare_calibrate},
      {"diagnose", "where an engine is wrong, by which cause, and what proves it", declare_diagnose},
      {"reduce", "the smallest model, inputs and command that still show what is wrong", declare_reduce},
      {"export", "writes a model as ONNX, with the types of a precision plan", declare_export},
      {"evaluate", "a task metric over labelled data, for runners that are judged on the same samples",
       declare_evaluate},
      {"merge", "the whole of what `evaluate --shard` wrote in parts", declare_merge},
      {"tune", "the cheapest precision plan that meets a tolerance or a task metric", declare_tune},
      {"help", "what verbs and options there are", declare_help},
  };
  return all;
}

// Verbs of the contract that later parts of the project bring.
constexpr const char* kPlanned[] = {"record", "replay"};

// NaN lies in every range.
const CLI::Validator kIsANumber(
    [](const std::string& text) {
      return std::isnan(std::strtod(text.c_str(), nullptr)) ? "is no number" : "";
    },
    "");

// Before anything makes a thread.
void choose_threads(const CommonOptions& common) {
  if (common.numa_node >= 0) prefer_memory_of_node(common.numa_node);
  if (!common.cores.empty())
    run_on_cores(parse_cores(common.cores));
  else if (common.numa_node >= 0)
    run_on_cores(cores_of_node(common.numa_node));
  const bool cores_are_chosen = !common.cores.empty() || common.numa_node >= 0;
  set_thread_count(common.threads > 0 || !cores_are_chosen ? common.threads : available_cores());
}

// Declares the options of every verb.
void declare_common(CLI::App& verb, CommonOptions& common) {
  verb.option_defaults()->always_capture_default();
  verb.add_option("--json", common.json, "write the machine-readable result to FILE")
      ->type_name("FILE")
      ->check(must_not_be_empty);
  verb.add_flag("-v", common.verbosity, "more output; -vv for still more");
  verb.add_flag("--quiet", common.quiet, "no output but errors");
  verb.add_option_function<int>("--progress-fd", tell_events_to,
                                "an open file descriptor, to which stages and errors are told as JSON lines")
      ->type_name("N");
  verb.add_option("--threads", common.threads, "threads to use, 0 for all cores")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--cores", common.cores, "cores to run on, each thread on one: 0-3,8 (default: any)")
      ->type_name("LIST");
  verb.add_option("--numa-node", common.numa_node,
                  "NUMA node whose memory, and cores unless --cores says other, to use; -1: any")
      ->check(CLI::Range(-1, 1023));
  verb.add_option("--seed", common.seed, "seed of everything random")->check(must_be_seed);
  verb.add_option("--memory-limit", common.memory_limit, "largest single tensor, in GiB; more is refused")
      ->check(CLI::Range(0.001, 1e6))
      ->check(kIsANumber)
      ->type_name("GIB");
}

// `what` is not there; says what was probably meant.
Error not_there(const std::string& what, const std::string& word, const std::vector<std::string>& names) {
  Error error = usage_error("{} '{}'", what, word);
  const std::string nearest = nearest_name(word, names);
  error.advise(nearest.empty() ? "see --help" : fmt::format("the nearest is {}", nearest));
  return error;
}

void require_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.emplace_back(verb.name);
  if (word.starts_with("-") || std::find(names.begin(), names.end(), word) != names.end()) return;
  throw not_there("there is no verb", word, names);
}

// Throws for the first option that a verb does not take; CLI11 reports other words.
void tell_unknown_option(const CLI::App& verb) {
  const auto words = verb.remaining(true);
  const auto option =
      std::find_if(words.begin(), words.end(), [](const auto& word) { return word.starts_with("--"); });
  if (option == words.end()) return;
  auto names = runner_option_names();
  for (const CLI::Option* each : verb.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  throw not_there(fmt::format("vernier {} has no option", verb.get_name()),
                  option->substr(0, option->find('=')), names);
}

}  // namespace

int run_program(std::vector<std::string> arguments, const CommandObserver* observer) {
  const auto words_behind_verb = [&] { return CommandWords(arguments.begin() + 1, arguments.end()); };
  if (!arguments.empty() && arguments[0] == "trtexec") return run_trtexec(words_behind_verb());
  if (!arguments.empty() && arguments[0] == "polygraphy") return run_polygraphy(words_behind_verb());
  forget_runners();
  remember_command(arguments);
  if (!arguments.empty()) {
    for (const char* planned : kPlanned) {
      if (arguments[0] == planned)
        throw unsupported("`vernier {}` is not part of this version", planned)
            .advise("see `vernier --help` for what is");
    }
    require_verb(arguments[0]);
  }
  const std::string verb = arguments.empty() ? "" : arguments[0];
  const bool builds = verb == "build" || verb == "bench" || verb == "tune";
  // These verbs make one engine, or its graph as ONNX, to which the precision options belong.
  if (builds || verb == "export") arguments.insert(arguments.begin() + 1, "--cpu");
  if (builds || verb == "export" || verb == "run" || verb == "diagnose" || verb == "reduce" ||
      verb == "check" || verb == "evaluate")
    take_runner_arguments(arguments);
  limit_isa_as_asked(builds);  // before the options, some of whose values depend on the processor
  CLI::App app("Vernier turns ONNX models into inference engines and proves how accurate they are.",
               "vernier");
  app.require_subcommand(1);
  app.set_version_flag("--version", VERNIER_VERSION);
  CommonOptions common;
  common.observer = observer;
  std::vector<std::pair<CLI::App*, std::function<int()>>> declared;
  for (const Verb& verb : verbs()) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    declare_common(*sub, common);
    declared.emplace_back(sub, verb.declare(*sub, common));
  }
  std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 takes a vector in
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_name() == "ExtrasError") {
      for (const auto& [sub, action] : declared) {
        if (sub->parsed()) tell_unknown_option(*sub);
      }
    }
    std::ostringstream help;
    const int status = app.exit(error, help, std::cerr);
    print(help.str());
    return status == 0 ? 0 : static_cast<int>(ErrorCode::kUsage);
  }
  choose_threads(common);
  set_allocation_limit(static_cast<size_t>(common.memory_limit * 0x1p30));
  for (const auto& [sub, action] : declared) {
    if (!sub->parsed()) continue;
    require_files_apart(*sub);
    return action();
  }
  return static_cast<int>(ErrorCode::kUsage);
}

namespace {

int fail(const Error& error) {
  tell_error(error);
  std::cerr << "vernier: " << error.what() << "\n";
  return static_cast<int>(error.code());
}

int run_guarded(std::vector<std::string> arguments) {
  try {
    try {
      return run_program(std::move(arguments));
    } catch (...) {
      // Where a file that the command reads was changed meanwhile, anything may follow; that is the reason.
      MappedFile::require_all_unchanged();
      throw;
    }
  } catch (const PrecisionDifference& error) {
    fail(error);
    return 1;  // a verdict, not a failure
  } catch (const Error& error) {
    return fail(error);
  } catch (const OutOfMemory& error) {
    return fail(unsupported("{}", error.what()));
  } catch (const std::bad_alloc&) {
    return fail(unsupported("out of memory"));
  } catch (const std::exception& error) {
    return fail(internal_error("internal error: {}", error.what()));
  }
}

}  // namespace

}  // namespace vernier

// For a program that has all of this from the library: the one of the Python package (python/CMakeLists.txt).
extern "C" int vernier_program(int argc, char** argv) {
  vernier::prepare_process();
  return vernier::flushed(vernier::run_guarded({argv + 1, argv + argc}));
}

int main(int argc, char** argv) {
  return vernier_program(argc, argv);
}
