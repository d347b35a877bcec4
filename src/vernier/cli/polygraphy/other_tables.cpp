#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/base/error.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

namespace {

using enum OptionValues;

void add(CommandWords& words, const char* option, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(option);
  words.push_back(value);
}

// Reads the kind from the extension, where --convert-to does not.
std::string kind_of_output(const PolygraphyCommand& command) {
  if (!command.convert_to.empty()) return command.convert_to;
  return command.output.ends_with(".onnx") ? "onnx" : "trt";
}

}  // namespace

std::vector<ForeignOption> polygraphy_inspect_options(PolygraphyCommand& c) {
  return {
      mapped_list({"--show"}, "--show", [&c](const CommandWords& words) { c.show = words; }),
      mapped_value({"--mode", "--layer-info"}, "--show",
                   [&c](const std::string& mode) {
                     if (mode == "basic") c.show = {"layers"};
                     if (mode == "attrs") c.show = {"layers", "attrs"};
                     if (mode == "full") c.show = {"layers", "attrs", "weights"};
                   }),
      ignored({"-a", "--all", "-s", "--show-values", "--histogram"}, kNone,
              "every sample is summarised; `numpy.load` shows single values"),
      ignored({"-n", "--num-items", "--line-width"}, kOne, "every sample is summarised"),
      refused({"--display-as"}, kOne,
              "a network is shown as Vernier imports it, not as TensorRT's parser does"),
      refused({"--list-unbounded-dds", "--with-partitioning", "--visual"}, kNone,
              "nothing of ours shows this"),
      refused({"--save-visual", "--visual-port", "--combine-tensor-info"}, kOne,
              "nothing of ours shows this"),
  };
}

std::vector<CommandWords> equivalent_of_convert(PolygraphyCommand& command) {
  if (command.model.empty()) throw usage_error("polygraphy convert: no model is given");
  if (command.output.empty())
    throw usage_error("polygraphy convert: no output is given").advise("add -o FILE");
  const std::string kind = kind_of_output(command);
  if (kind == "onnx") return {{"export", command.model, "-o", command.output}};
  if (kind != "trt")
    throw unsupported(
        "polygraphy convert --convert-to {}: there are onnx and trt, which is an engine of Vernier", kind);
  const PolygraphyBuild& build = command.build;
  if (build.tf32) command.notes.emplace_back("--tf32 is ignored: the CPU engine has no TF32");
  if (draws_inputs(command))
    command.notes.emplace_back(
        "no inputs are drawn to calibrate with: `vernier calibrate` finds ranges in data, and "
        "--calibration-cache reads them");
  CommandWords words = {"build", command.model, "-o", command.output};
  const auto add_all = [&](const char* option, const CommandWords& profiles) {
    for (const std::string& sizes : profiles) add(words, option, sizes);
  };
  // Polygraphy takes sizes that no profile gives from --input-shapes.
  CommandWords opt = build.opt_shapes;
  if (opt.empty()) opt = build.max_shapes.empty() ? build.min_shapes : build.max_shapes;
  if (opt.empty() && !command.shapes.empty()) opt = {command.shapes};
  add_all("--min-shapes", build.min_shapes);
  add_all("--opt-shapes", opt);
  add_all("--max-shapes", build.max_shapes);
  add(words, "--workspace", build.workspace);
  add(words, "--timing-cache", build.timing_cache);
  add(words, "--opt-level", build.level);
  for (const std::string& file : command.load_inputs) add(words, "--data", file);
  words.emplace_back("--cpu");
  for (std::string& word : engine_option_words(build, true)) words.push_back(std::move(word));
  return {words};
}

CommandWords equivalent_of_debug(const std::string& verb, PolygraphyCommand& command) {
  if (command.model.empty()) throw usage_error("polygraphy debug: no model is given");
  CommandWords words = {verb, command.model};
  if (verb == "reduce") {
    // Polygraphy writes one file; ours is a folder with the model, its inputs and the command.
    std::string folder = command.output.empty() ? "reduced" : command.output;
    if (folder.ends_with(".onnx")) folder.resize(folder.size() - (sizeof(".onnx") - 1));
    add(words, "-o", folder);
  }
  // The engine that --check runs; `debug precision` builds one of TensorRT.
  const CommandWords& runners = command.runners;
  const bool is_onnxruntime = verb == "reduce" && !runners.empty() &&
                              std::find(runners.begin(), runners.end(), "trt") == runners.end();
  if (is_onnxruntime)
    for (std::string& word : onnxruntime_words(command)) words.push_back(std::move(word));
  else
    for (std::string& word : tensorrt_words(command.build)) words.push_back(std::move(word));
  for (std::string& word : data_words(command)) words.push_back(std::move(word));
  for (const std::string& each : command.atol) add(words, "--atol", each);
  for (const std::string& each : command.rtol) add(words, "--rtol", each);
  return words;
}

}  // namespace vernier
