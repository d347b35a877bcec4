// A verb of the command line: it declares its options, and runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>

#include "vernier/cli/command_observer.h"

namespace vernier {

// Options of every verb.
struct CommonOptions {
  std::string json;  // a file for the machine-readable result; empty: none
  int verbosity = 0;
  bool quiet = false;
  int threads = 0;     // 0: all cores
  std::string cores;   // that threads are bound to; empty: none
  int numa_node = -1;  // whose cores and memory are used; -1: any
  uint64_t seed = 1;
  double memory_limit = 4;                    // GiB, of one tensor
  const CommandObserver* observer = nullptr;  // of a command that runs inside another one
};

struct Verb {
  std::string name, summary;
  // Adds options to `app` and gives what to do; the returned function lives as long as the program and gives
  // the exit status.
  std::function<int()> (*declare)(CLI::App& app, CommonOptions& common);
};

std::function<int()> declare_bench(CLI::App& app, CommonOptions& common);
std::function<int()> declare_build(CLI::App& app, CommonOptions& common);
std::function<int()> declare_calibrate(CLI::App& app, CommonOptions& common);
std::function<int()> declare_check(CLI::App& app, CommonOptions& common);
std::function<int()> declare_diagnose(CLI::App& app, CommonOptions& common);
std::function<int()> declare_evaluate(CLI::App& app, CommonOptions& common);
std::function<int()> declare_export(CLI::App& app, CommonOptions& common);
std::function<int()> declare_help(CLI::App& app, CommonOptions& common);
std::function<int()> declare_inspect(CLI::App& app, CommonOptions& common);
std::function<int()> declare_merge(CLI::App& app, CommonOptions& common);
std::function<int()> declare_reduce(CLI::App& app, CommonOptions& common);
std::function<int()> declare_run(CLI::App& app, CommonOptions& common);
std::function<int()> declare_tune(CLI::App& app, CommonOptions& common);
// Declares only what `--help` lists of the command lines of other tools, which are read by run_trtexec and
// run_polygraphy.
std::function<int()> declare_polygraphy(CLI::App& app, CommonOptions& common);
std::function<int()> declare_trtexec(CLI::App& app, CommonOptions& common);

// Runs a command line, verb first; gives its exit status. A command may run others so, one after the other.
// Throws Error and what else the verb throws.
int run_program(std::vector<std::string> arguments, const CommandObserver* observer = nullptr);

// Runner options of `run` ("--reference", "--onnxruntime=cpu", …) depend on their order, which the option
// parser does not keep: this moves them, with the options that follow them and belong to them, out of the
// arguments.
void take_runner_arguments(std::vector<std::string>& arguments);

// CPU, library versions: what a report needs so that its numbers can be made again.
std::map<std::string, std::string> environment();

// Writes `text` to standard output unless --quiet. Throws bad_input if a file that the command read was
// changed meanwhile.
void say(const CommonOptions& common, const std::string& text);

}  // namespace vernier
