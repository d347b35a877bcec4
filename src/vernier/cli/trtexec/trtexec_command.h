// Reads what a command line of trtexec asks for, and the commands of Vernier that do the same.
#pragma once

#include <map>

#include "vernier/cli/foreign/foreign_options.h"

namespace vernier {

// Sizes of inputs by name, as text: "1x3x224x224".
using SizeTexts = std::map<std::string, std::string>;

struct TrtexecProfile {
  SizeTexts min, opt, max;
};

struct TrtexecCommand {
  std::string onnx, load_engine, save_engine;
  bool skip_inference = false;

  // How the engine is built.
  std::vector<TrtexecProfile> profiles;
  size_t profile = 0;  // the one that --minShapes and the like belong to
  bool fp16 = false, bf16 = false, int8 = false, best = false;
  std::string constraints, layer_precisions, layer_output_types, calibration;
  std::string workspace, timing_cache, level;
  bool strip_weights = false;

  // The next fields say what is measured.
  SizeTexts shapes;
  size_t used_profile = 0;
  CommandWords data;  // NAME=FILE
  size_t iterations = 10, streams = 1;
  double duration = 3, warm_up = 200;  // seconds, milliseconds

  // The next fields say what is printed of it.
  size_t average_runs = 10;
  std::vector<double> percentiles = {90, 95, 99};
  bool verbose = false, averages = false, detailed = false;
  bool dump_profile = false, dump_layers = false, dump_output = false;
  std::string export_times, export_profile, export_layers, export_output;

  bool changes_types() const {
    return fp16 || bf16 || int8 || best || !layer_precisions.empty() || !layer_output_types.empty();
  }
  bool needs_profile() const {
    return dump_profile || dump_layers || !export_profile.empty() || !export_layers.empty();
  }
};

// The table: each row changes `command`, which outlives it.
std::vector<ForeignOption> trtexec_options(TrtexecCommand& command);
// Its rows about what is measured and told, which are in a file of their own.
std::vector<ForeignOption> trtexec_measuring_options(TrtexecCommand& command);

// In the order in which they run: `build`, `bench`, or one of them. `own` are words of the user for the last.
// Throws usage_error where no model is given, unsupported for what does not go together here.
std::vector<CommandWords> vernier_commands(const TrtexecCommand& command, const CommandWords& own);

// Gives what the user should know of them: what the command line asks for and cannot have.
std::vector<std::string> notes_of(const TrtexecCommand& command);

// `vernier trtexec WORDS`: prints the equivalent command line, runs it, and reports as trtexec does. Gives
// the exit status: 1 where the engine is not as accurate as it promises.
int run_trtexec(const CommandWords& words);

}  // namespace vernier
