#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/base/error.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

namespace {

using enum OptionValues;
using Table = std::vector<ForeignOption>;

// "float32" as --layer-precisions names it.
std::string type_name(const std::string& text) {
  static const std::map<std::string, std::string> names = {
      {"float32", "fp32"}, {"float16", "fp16"}, {"bfloat16", "bf16"}, {"int8", "int8"}};
  const auto found = names.find(text);
  if (found == names.end())
    throw unsupported("--layer-precisions: nodes are not computed in '{}'", text)
        .advise("there are float32, float16, bfloat16 and int8");
  return found->second;
}

std::string layer_precisions(const CommandWords& words) {
  CommandWords layers;
  for (const std::string& word : words) {
    const size_t colon = word.rfind(':');
    if (colon == std::string::npos || colon == 0)
      throw usage_error("--layer-precisions: '{}' is not LAYER:TYPE", word);
    layers.push_back(word.substr(0, colon + 1) + type_name(word.substr(colon + 1)));
  }
  return fmt::format("{}", fmt::join(layers, ","));
}

// "workspace:1G"; Polygraphy counts bytes where no unit is given.
std::string workspace_of(const CommandWords& words) {
  std::string workspace;
  for (const std::string& word : words) {
    if (!word.starts_with("workspace:")) continue;
    const std::string size = word.substr(sizeof("workspace:") - 1);
    const char unit = size.empty() ? ' ' : size.back();
    if (unit == 'K' || unit == 'M' || unit == 'G')
      workspace = size + "iB";
    else if (unit == 'k' || unit == 'm' || unit == 'g')
      workspace = size.substr(0, size.size() - 1) + static_cast<char>(unit - 'a' + 'A') + "iB";
    else
      workspace = size + "B";
  }
  return workspace;
}

Table shape_options(PolygraphyBuild& b) {
  const auto sizes = [](const char* name, const char* becomes, CommandWords& to) {
    return mapped_list({name}, becomes, [name, &to](const CommandWords& words) {
      to.push_back(polygraphy_sizes(name, words));
    });
  };
  return {
      sizes("--trt-min-shapes", "--min-shapes", b.min_shapes),
      sizes("--trt-opt-shapes", "--opt-shapes", b.opt_shapes),
      sizes("--trt-max-shapes", "--max-shapes", b.max_shapes),
      ignored({"--optimization-profile"}, kOne, "the profile that holds the sizes is taken"),
  };
}

Table precision_options(PolygraphyBuild& b) {
  const auto flag = [](const char* name, bool& to) {
    return mapped_flag({name}, name, [&to] { to = true; });
  };
  return {
      flag("--fp16", b.fp16),
      flag("--bf16", b.bf16),
      flag("--int8", b.int8),
      mapped_flag({"--tf32"}, "TF32 in TensorRT; the CPU engine has none", [&b] { b.tf32 = true; }),
      refused({"--fp8", "--int4"}, kNone, "nodes are not computed in this type"),
      mapped_value({"--precision-constraints"}, "--precision-constraints (default here: prefer)",
                   [&b](const std::string& text) { b.constraints = text; }),
      mapped_flag({"--obey-precision-constraints", "--strict-types"}, "--precision-constraints obey",
                  [&b] { b.constraints = "obey"; }),
      mapped_list({"--layer-precisions"}, "--layer-precisions, by names of ONNX nodes",
                  [&b](const CommandWords& words) { b.layer_precisions = layer_precisions(words); }),
      mapped_value({"--calibration-cache"}, "--calibration",
                   [&b](const std::string& file) { b.calibration = file; }),
      ignored({"--calib-base-cls", "--calibration-base-class", "--quantile", "--regression-cutoff"}, kOne,
              "calibration is `vernier calibrate`; its file is read by --calibration-cache"),
      ignored({"--strongly-typed"}, kNone,
              "without other options an engine computes in the types that the model declares"),
      ignored({"--sparse-weights"}, kNone, "no kernel uses sparse weights"),
      refused({"--tensor-dtypes", "--tensor-datatypes", "--tensor-formats", "--all-tensor-dtypes",
               "--all-tensor-datatypes", "--all-tensor-formats"},
              kSeveral, "inputs and outputs have the types and the layout of the model"),
  };
}

Table other_options(PolygraphyBuild& b) {
  constexpr const char* kOfTensorRT = "it steers how TensorRT builds";
  constexpr const char* kScript =
      "it is Python for TensorRT's network or configuration, and Python scripts are not run; say what it "
      "sets "
      "by options";
  constexpr const char* kNoDla = "there is no DLA; leave it out, and the engine runs on the CPU or the GPU";
  constexpr const char* kTaps =
      "inner values are compared by --trt-outputs and --onnx-outputs, as `mark all`";
  return {
      mapped_list({"--pool-limit", "--memory-pool-limit"}, "--workspace; there are no other pools",
                  [&b](const CommandWords& words) { b.workspace = workspace_of(words); }),
      mapped_value({"--workspace"}, "--workspace",
                   [&b](const std::string& size) { b.workspace = workspace_of({"workspace:" + size}); }),
      mapped_value({"--load-timing-cache", "--save-timing-cache", "--timing-cache"}, "--timing-cache",
                   [&b](const std::string& file) { b.timing_cache = file; }),
      mapped_value({"--builder-optimization-level"}, "--opt-level",
                   [&b](const std::string& level) { b.level = level; }),
      ignored({"--error-on-timing-cache-miss", "--disable-compilation-cache", "--version-compatible",
               "--exclude-lean-runtime", "--allow-gpu-fallback", "--refittable", "--direct-io",
               "--trt-safety-restricted", "--restricted"},
              kNone, kOfTensorRT),
      ignored({"--plugin-instancenorm", "--decomposable-attentions"}, kNone, kOfTensorRT),
      ignored({"--weight-streaming"}, kNone,
              "it says where weights lie, and changes nothing of what is computed"),
      ignored({"--hardware-compatibility-level", "--max-aux-streams", "--tiling-optimization-level",
               "--engine-capability", "--profiling-verbosity", "--quantization-flags", "--runtime-platform"},
              kOne, kOfTensorRT),
      ignored({"--tactic-sources", "--preview-features", "--onnx-flags"}, kSeveral, kOfTensorRT),
      refused({"--save-tactics", "--save-tactic-replay", "--load-tactics", "--load-tactic-replay"}, kOne,
              "a tactic of ours is named by `--tactics +NAME` or `--force-tactic NAME`"),
      refused({"--trt-config-script", "--trt-config-func-name", "--trt-network-func-name",
               "--trt-config-postprocess-script", "--trt-cpps", "--load-runtime"},
              kOne, kScript),
      refused({"--trt-network-postprocess-script", "--trt-npps"}, kSeveral, kScript),
      refused({"--plugins"}, kSeveral,
              "plugins of TensorRT are compiled for its interface and for CUDA; `vernier run --runner "
              "NAME=COMMAND` compares a program of yours that loads them"),
      refused({"--use-dla", "--enable-uint8-asymmetric-quantization-dla"}, kNone, kNoDla),
      refused({"--dla-workspace-allocation-strategy"}, kOne, kNoDla),
      refused({"--mark-debug"}, kSeveral, kTaps),
      refused({"--mark-unfused-tensors-as-debug-tensors"}, kNone, kTaps),
      refused({"--strip-plan"}, kNone, "`vernier build --strip-weights` leaves weights out"),
      mapped_value({"--save-engine"}, "build -o", [&b](const std::string& file) { b.save_engine = file; }),
      mapped_value({"--stand-in"}, "cpu: Vernier's CPU engine in the place of TensorRT",
                   [&b](const std::string& name) {
                     if (name != "cpu") throw usage_error("--stand-in: '{}' is not cpu", name);
                     b.stand_in = name;
                   }),
  };
}

void add(CommandWords& words, const char* option, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(option);
  words.push_back(value);
}

// Sizes of profiles as one text, a semicolon between profiles. Runner options are separated by commas, so
// those between inputs become plus signs.
std::string profile_text(const CommandWords& profiles) {
  std::string text = fmt::format("{}", fmt::join(profiles, ";"));
  std::replace(text.begin(), text.end(), ',', '+');
  return text;
}

}  // namespace

std::vector<ForeignOption> polygraphy_build_options(PolygraphyCommand& command) {
  Table table = shape_options(command.build);
  for (Table more : {precision_options(command.build), other_options(command.build)}) {
    for (ForeignOption& row : more) table.push_back(std::move(row));
  }
  return table;
}

CommandWords engine_option_words(const PolygraphyBuild& build, bool on_cpu) {
  CommandWords words;
  if (build.fp16 && build.bf16 && on_cpu)
    throw unsupported("--fp16 and --bf16: an engine is lowered to one of the two").advise("give one of them");
  if (build.fp16) words.emplace_back("--fp16");
  if (build.bf16) words.emplace_back("--bf16");
  if (build.int8 && !(on_cpu && build.calibration.empty())) words.emplace_back("--int8");
  add(words, "--calibration", build.calibration);
  add(words, "--layer-precisions", build.layer_precisions);
  if (!words.empty() || !build.constraints.empty())
    add(words, "--precision-constraints", build.constraints.empty() && on_cpu ? "prefer" : build.constraints);
  return words;
}

CommandWords tensorrt_words(const PolygraphyBuild& build) {
  const bool on_cpu = build.stand_in == "cpu";
  CommandWords words = {on_cpu ? "--cpu" : "--tensorrt"};
  for (std::string& word : engine_option_words(build, on_cpu)) words.push_back(std::move(word));
  if (on_cpu) return words;
  if (!build.tf32) words.emplace_back("--no-tf32");
  const auto runner_option = [&](const char* key, const std::string& value) {
    if (!value.empty()) add(words, "--runner-option", fmt::format("{}={}", key, value));
  };
  runner_option("min_shapes", profile_text(build.min_shapes));
  runner_option("opt_shapes", profile_text(build.opt_shapes));
  runner_option("max_shapes", profile_text(build.max_shapes));
  runner_option("workspace", build.workspace);
  runner_option("timing_cache", build.timing_cache);
  runner_option("optimization_level", build.level);
  runner_option("save_engine", build.save_engine);
  return words;
}

}  // namespace vernier
