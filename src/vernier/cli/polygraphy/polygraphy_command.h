// Reads what a command line of Polygraphy asks for, and the commands of Vernier that do the same.
#pragma once

#include <map>
#include <optional>

#include "vernier/cli/foreign/foreign_options.h"

namespace vernier {

// How TensorRT is to build; shared by `run`, `convert` and `debug precision`.
struct PolygraphyBuild {
  bool fp16 = false, bf16 = false, int8 = false, tf32 = false;
  std::string constraints, layer_precisions, calibration, workspace, timing_cache, level, save_engine;
  // Sizes of one profile each, as --shapes takes them.
  CommandWords min_shapes, opt_shapes, max_shapes;
  std::string stand_in;  // what takes TensorRT's place: "cpu", or "" for none
};

// Holds what `debug` searches for, and the program that judges each step. Exit statuses are as Polygraphy
// counts them: without any named, all but 0 fail.
struct PolygraphyDebug {
  CommandWords check;  // the command and its arguments
  std::vector<int> fail_codes, ignored_codes;
  CommandWords fail_regexes;  // what must be in its output to be a failure
  bool show_output = false, hide_fail_output = false;
  std::string artifact, iteration_info, artifacts_folder = "polygraphy_artifacts";
  CommandWords artifacts;  // files that are moved into good/ or bad/ behind each step
  bool keeps_artifact = false, is_linear = false, is_reverse = false;
  std::string higher_type;  // of `precision`: "fp32" or "fp16"
  std::string until;        // of `build` and `repeat`: "good", "bad" or a number of steps
  // Options that were given: those that say how a program is asked, or what follows from its answers, and
  // those that say in which order steps are made. A comparison of ours uses none of them.
  CommandWords asking, searching;

  // Whether the check is `polygraphy run`, which is ours here: a comparison stands for it, or it is the
  // program.
  bool checks_by_polygraphy() const;
};

struct PolygraphyCommand {
  std::string model, output;
  PolygraphyBuild build;
  PolygraphyDebug debug;

  // `run`.
  CommandWords runners;                // "trt" and "onnxrt", in order
  std::string provider, optimization;  // of ONNX Runtime
  bool layers = false, validate = false;
  CommandWords atol, rtol;

  // Data.
  std::optional<uint64_t> seed, iterations;
  std::string shapes;
  CommandWords value_ranges, load_inputs, load_results;
  std::string save_inputs, save_results;

  // `inspect` and `convert`.
  CommandWords show;
  std::string convert_to;

  CommandWords own;                // what the command line adds to Vernier's command
  std::vector<std::string> notes;  // differences that the user should know of
};

// Groups of rows; each changes `command`, which outlives it.
std::vector<ForeignOption> polygraphy_log_options();
std::vector<ForeignOption> polygraphy_model_options(PolygraphyCommand& command);
std::vector<ForeignOption> polygraphy_runner_options(PolygraphyCommand& command);
std::vector<ForeignOption> polygraphy_data_options(PolygraphyCommand& command);
std::vector<ForeignOption> polygraphy_compare_options(PolygraphyCommand& command);
std::vector<ForeignOption> polygraphy_build_options(PolygraphyCommand& command);
std::vector<ForeignOption> polygraphy_inspect_options(PolygraphyCommand& command);
std::vector<ForeignOption> polygraphy_debug_options(PolygraphyCommand& command);

// All rows of a subcommand, "run" or "debug reduce".
std::vector<ForeignOption> polygraphy_options(const std::string& subcommand, PolygraphyCommand& command);

// Takes --check and all behind it out of the words; "" if there is none.
CommandWords take_check(CommandWords& words);
// Sets what `debug` needs and the command line leaves open. Throws unsupported and usage_error where a
// subcommand makes no sense without a program, or without --until.
void complete_debug(const std::string& name, PolygraphyCommand& command);
// Hands what `--check polygraphy run` asks for to the comparison of ours that stands for it. All that it has
// is taken over; throws unsupported for what such a comparison does not do.
void obey_check(const std::string& name, PolygraphyCommand& command, ForeignArguments& arguments);
// Notes on options about steps, where no program is asked and there are none.
void note_unused_steps(const PolygraphyDebug& debug, ForeignArguments& arguments);

// Options of ours for an engine, behind --cpu or --tensorrt.
CommandWords engine_option_words(const PolygraphyBuild& build, bool on_cpu);
// Whether options say how inputs are drawn, and none are loaded.
bool draws_inputs(const PolygraphyCommand& command);
// Options that say which inputs are used.
CommandWords data_words(const PolygraphyCommand& command);
// Gives the words that TensorRT becomes: `--tensorrt` or, where it is stood in for, `--cpu`, with its
// options.
CommandWords tensorrt_words(const PolygraphyBuild& build);
CommandWords onnxruntime_words(const PolygraphyCommand& command);

// The equivalent of each subcommand. Throw usage_error and unsupported.
CommandWords equivalent_of_run(PolygraphyCommand& command);
std::vector<CommandWords> equivalent_of_convert(PolygraphyCommand& command);
// `verb` is diagnose or reduce.
CommandWords equivalent_of_debug(const std::string& verb, PolygraphyCommand& command);
// The command that builds what the program of --check looks at, in `debug precision` and `debug build`.
// `layer_precisions` may be "".
CommandWords artifact_build_words(const PolygraphyCommand& command, const std::string& layer_precisions);

// `name` is a subcommand of debug. Whether a program is asked at every step, in the place of a comparison of
// ours.
bool is_checked_by_program(const std::string& name, const PolygraphyDebug& debug);
// Then this does it; gives the exit status: 0 where what is searched for was found.
int execute_debug(const std::string& name, const PolygraphyCommand& command);

// "x:[1,3,224,224]" or "x:1x3" as "x:1x3x224x224". Throws usage_error.
std::string polygraphy_sizes(const std::string& option, const CommandWords& words);

// `polygraphy run` needs files that Vernier does not write and read itself: Polygraphy's JSON of inputs and
// results. Gives the exit status.
int execute_run(const PolygraphyCommand& command, CommandWords words);

// `vernier polygraphy WORDS`: prints the equivalent command line, and runs it.
int run_polygraphy(const CommandWords& words);

}  // namespace vernier
