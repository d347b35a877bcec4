// What a command line of Polygraphy asks for, and the commands of Vernier that do the same.
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

struct PolygraphyCommand {
  std::string model, output;
  PolygraphyBuild build;

  // `run`.
  CommandWords runners;  // "trt" and "onnxrt", in order
  std::string provider;  // of ONNX Runtime
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

// Options of ours for an engine, behind --cpu or --tensorrt.
CommandWords engine_option_words(const PolygraphyBuild& build, bool on_cpu);
// Options that say which inputs are used.
CommandWords data_words(const PolygraphyCommand& command);
// What TensorRT becomes: `--tensorrt` or, where it is stood in for, `--cpu`, with its options.
CommandWords tensorrt_words(const PolygraphyBuild& build);
std::string onnxruntime_word(const PolygraphyCommand& command);

// The equivalent of each subcommand. Throw usage_error and unsupported.
CommandWords equivalent_of_run(PolygraphyCommand& command);
std::vector<CommandWords> equivalent_of_convert(PolygraphyCommand& command);
// `verb` is diagnose or reduce.
CommandWords equivalent_of_debug(const std::string& verb, PolygraphyCommand& command);

// "x:[1,3,224,224]" or "x:1x3" as "x:1x3x224x224". Throws usage_error.
std::string polygraphy_sizes(const std::string& option, const CommandWords& words);

// `polygraphy run` needs files that Vernier does not write and read itself: Polygraphy's JSON of inputs and
// results. Gives the exit status.
int execute_run(const PolygraphyCommand& command, CommandWords words);

// `vernier polygraphy WORDS`: prints the equivalent command line, and runs it.
int run_polygraphy(const CommandWords& words);

}  // namespace vernier
