// The one place that says what the options of `polygraphy run` become, besides those about data and building.
#include "vernier/base/error.h"
#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

namespace {

using enum OptionValues;

// "1e-3" and ":1e-3" are for all outputs, "out:1e-3" for one.
void add_tolerances(CommandWords& to, const CommandWords& words) {
  for (const std::string& word : words) to.push_back(word.starts_with(':') ? word.substr(1) : word);
}

// Checks a list of [OUTPUT:]STATISTIC.
void require_elementwise(const CommandWords& words) {
  for (const std::string& word : words) {
    const std::string statistic = word.substr(word.rfind(':') + 1);
    if (statistic == "elemwise" || statistic == "max") continue;
    if (statistic != "mean" && statistic != "median" && statistic != "quantile")
      throw usage_error("--check-error-stat: '{}' is not elemwise, max, mean, median or quantile", statistic);
    throw unsupported("--check-error-stat {}: every element is judged, for a {} passes where some are wrong",
                      statistic, statistic)
        .advise("leave it out, and give the tolerance that every element must meet by --atol and --rtol");
  }
}

std::string in_lower_case(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

void choose_provider(PolygraphyCommand& command, const CommandWords& words) {
  for (const std::string& word : words) {
    // A part of a provider's name, in any case, stands for it.
    const auto names = [part = in_lower_case(word)](std::string_view provider) {
      return !part.empty() && provider.find(part) != std::string_view::npos;
    };
    const bool is_cuda = names("cudaexecutionprovider") && !names("cpuexecutionprovider");
    if (!is_cuda && !names("cpuexecutionprovider"))
      throw unsupported("--providers: ONNX Runtime runs with cpu or cuda here, not with '{}'", word);
    if (command.provider.empty()) command.provider = is_cuda ? "cuda" : "cpu";  // the first is preferred
  }
}

// "ORT_ENABLE_BASIC" as --optimization has it.
std::string optimization_of(const std::string& level) {
  constexpr std::pair<const char*, const char*> kLevels[] = {{"ORT_DISABLE_ALL", "disable"},
                                                             {"ORT_ENABLE_BASIC", "basic"},
                                                             {"ORT_ENABLE_EXTENDED", "extended"},
                                                             {"ORT_ENABLE_ALL", "all"}};
  for (const auto& [theirs, ours] : kLevels) {
    if (level == theirs) return ours;
  }
  throw usage_error("--graph-optimization-level: '{}' is no level of ONNX Runtime", level)
      .advise("there are ORT_DISABLE_ALL, ORT_ENABLE_BASIC, ORT_ENABLE_EXTENDED and ORT_ENABLE_ALL");
}

Error refuse_engine() {
  return unsupported("an engine alone cannot be judged: it is run beside its ONNX model")
      .advise(
          "give the model, and --trt; or `vernier run MODEL --reference --engine FILE` for an engine of "
          "Vernier");
}

void choose_model_type(const std::string& type) {
  if (type == "onnx") return;
  if (type == "engine") throw refuse_engine();
  throw unsupported("--model-type {}: models are ONNX files", type);
}

}  // namespace

std::vector<ForeignOption> polygraphy_log_options() {
  return {
      ignored({"-v", "-vv", "-vvv", "-vvvv", "--verbose", "-q", "-qq", "--quiet", "--silent"}, kNone,
              "say `-- -v` or `-- --quiet` to Vernier's command"),
      ignored({"--log-format", "--verbosity", "--module-verbosity"}, kSeveral,
              "say `-- -v` or `-- --quiet` to Vernier's command"),
      ignored({"--log-file"}, kOne, "redirect the output to a file"),
  };
}

std::vector<ForeignOption> polygraphy_model_options(PolygraphyCommand& c) {
  constexpr const char* kScript = "no Python script is made; the equivalent command line is printed";
  constexpr const char* kExternalData =
      "a model that is written has its weights beside it where it would pass 1.9 GB";
  constexpr const char* kTensorFlow =
      "models are ONNX files; convert one of TensorFlow with tf2onnx, and give what that writes";
  return {
      mapped_value({"--model-type"}, "onnx only", choose_model_type),
      mapped_list({"--onnx-outputs", "--trt-outputs", "--onnx-outputs-by-type", "--trt-outputs-by-type"},
                  "mark all: --layers; names and types: the same, for they are among it",
                  [&c](const CommandWords& words) {
                    if (words != CommandWords{"mark", "all"})
                      c.notes.push_back(
                          "all values that the runners can show are compared, which the named "
                          "ones are among");
                    c.layers = true;
                  }),
      ignored({"--onnx-exclude-outputs", "--trt-exclude-outputs"}, kSeveral,
              "excluded values are compared, too"),
      ignored(
          {"--shape-inference", "--do-shape-inference", "--no-shape-inference",
           "--no-onnxruntime-shape-inference", "--force-fallback-shape-inference", "--ignore-external-data"},
          kNone, "shapes are inferred by Vernier"),
      ignored({"--external-data-dir", "--load-external-data", "--ext"}, kOne,
              "external data are read from where the model says"),
      ignored({"--save-external-data", "--external-data-path", "--external-data-size-threshold"}, kOne,
              kExternalData),
      ignored({"--no-save-all-tensors-to-one-file"}, kNone, kExternalData),
      refused({"--gen", "--gen-script"}, kOne, kScript),
      refused({"--save-onnx"}, kOne, "`vernier export MODEL -o FILE` writes the model again"),
      refused({"--fp-to-fp16"}, kNone, "`vernier export MODEL --fp16 -o FILE` writes a model in float16"),
      refused({"--upper-bounds"}, kNone, "`vernier export` with a plan writes a typed model"),
      refused({"--tf-outputs", "--ckpt", "--save-pb", "--save-tensorboard", "--save-timeline", "--opset",
               "--minimum-segment-size", "--gpu-memory-fraction"},
              kSeveral, kTensorFlow),
      refused({"--tftrt", "--use-tftrt", "--dynamic-op", "--freeze-graph", "--allow-growth", "--xla"}, kNone,
              kTensorFlow),
  };
}

std::vector<ForeignOption> polygraphy_runner_options(PolygraphyCommand& c) {
  return {
      mapped_flag({"--trt"}, "--tensorrt, or with --stand-in cpu --cpu",
                  [&c] { c.runners.emplace_back("trt"); }),
      mapped_flag({"--onnxrt"}, "--onnxruntime", [&c] { c.runners.emplace_back("onnxrt"); }),
      mapped_list({"--providers", "--execution-providers"}, "--onnxruntime=cpu|cuda",
                  [&c](const CommandWords& words) { choose_provider(c, words); }),
      mapped_value({"--graph-optimization-level"}, "--optimization of ONNX Runtime",
                   [&c](const std::string& level) { c.optimization = optimization_of(level); }),
      ignored({"--allocation-strategy", "--weight-streaming-budget"}, kOne,
              "it says where memory of the GPU comes from, and changes nothing of what is computed"),
      refused({"--tf", "--trt-legacy", "--onnxtf"}, kNone,
              "no such runner is known; one of yours runs by "
              "`vernier run --runner NAME=COMMAND`"),
      mapped_flag({"--pluginref"}, "--reference", [&c] { c.runners.emplace_back("reference"); }),
      ignored({"--warm-up"}, kOne, "nothing is timed; `vernier bench` does"),
      ignored({"--use-subprocess"}, kNone, "runners are processes of their own"),
  };
}

std::vector<ForeignOption> polygraphy_compare_options(PolygraphyCommand& c) {
  constexpr const char* kJudged =
      "the report has L2, cosine, SQNR, ulp, argmax and top-k agreement of every output, but its verdict is "
      "by "
      "element";
  constexpr const char* kPlots = "the report of `--json` holds a histogram, and no pictures";
  return {
      mapped_list({"--atol", "--abs-tol", "--abs", "--absolute-tolerance"}, "--atol",
                  [&c](const CommandWords& words) { add_tolerances(c.atol, words); }),
      mapped_list({"--rtol", "--rel-tol", "--rel", "--relative-tolerance"}, "--rtol",
                  [&c](const CommandWords& words) { add_tolerances(c.rtol, words); }),
      mapped_list({"--check-error-stat"}, "elemwise and max: as every verdict is; others are refused",
                  require_elementwise),
      mapped_flag({"--validate"}, "NaN or Inf in an output fails", [&c] { c.validate = true; }),
      ignored({"--fail-fast"}, kNone, "all outputs are compared, and one that fails is enough"),
      ignored({"--sequential-runners"}, kNone,
              "samples are compared one by one, and saved runs read from disk"),
      ignored({"--infinities-compare-equal"}, kNone,
              "an Inf agrees with an Inf of the same sign at the same place"),
      refused({"--no-shape-check"}, kNone, "outputs of other sizes than the model's are wrong"),
      mapped_list({"--compare", "--compare-func"}, "simple only",
                  [=](const CommandWords& words) {
                    for (const std::string& word : words) {
                      if (word != "simple") throw unsupported("--compare {}: {}", word, kJudged);
                    }
                  }),
      refused({"--index-tolerance", "--l2-threshold", "--l2-tolerance", "--cosine-similarity-threshold",
               "--psnr-threshold", "--psnr-tolerance", "--snr-threshold", "--snr-tolerance",
               "--lpips-threshold", "--lpips-tolerance", "--error-quantile"},
              kSeveral, kJudged),
      refused({"--check-average"}, kNone,
              "every iteration is judged, for an average passes where some are wrong"),
      refused({"--save-accuracy-results"}, kOne,
              "it is a file of Polygraphy's own; `-- --json FILE` writes every metric of every output"),
      refused({"--postprocess", "--postprocess-func", "--top-k"}, kSeveral, kJudged),
      refused({"--compare-func-script", "--postprocess-func-script"}, kOne,
              "Python scripts are not run; save what the runners yield by --save-outputs, and read that in "
              "yours"),
      refused({"--save-heatmaps", "--save-error-metrics-plot"}, kOne, kPlots),
      refused({"--show-heatmaps", "--show-error-metrics-plot"}, kNone, kPlots),
  };
}

CommandWords onnxruntime_words(const PolygraphyCommand& command) {
  CommandWords words = {command.provider.empty() ? "--onnxruntime" : "--onnxruntime=" + command.provider};
  if (!command.optimization.empty()) words.insert(words.end(), {"--optimization", command.optimization});
  return words;
}

CommandWords equivalent_of_run(PolygraphyCommand& command) {
  CommandWords words = {"run"};
  if (!command.model.empty()) words.push_back(command.model);
  if (command.model.empty() && !command.runners.empty())
    throw usage_error("polygraphy run: no model is given");
  for (const char* extension : {".engine", ".plan", ".trt"}) {
    if (command.model.ends_with(extension)) throw refuse_engine();
  }
  // ONNX Runtime is the measure of others, as the last runner is of those before it: the first of ours.
  CommandWords order = command.runners;
  std::reverse(order.begin(), order.end());
  std::stable_partition(order.begin(), order.end(), [](const std::string& name) { return name != "trt"; });
  const size_t compared = order.size() + command.load_results.size();
  if (compared == 0)
    throw usage_error("polygraphy run: no runner is given").advise("add --trt, --onnxrt, or both");
  for (const std::string& file : command.load_results) {
    words.emplace_back("--load-run");
    words.push_back(file);
  }
  if (compared == 1 && command.save_results.empty()) {
    words.emplace_back("--reference");
    command.notes.emplace_back(
        "one runner is compared with the reference, by tolerances that follow from its types");
  }
  for (const std::string& name : order) {
    if (name == "onnxrt")
      for (std::string& word : onnxruntime_words(command)) words.push_back(std::move(word));
    else if (name == "reference")
      words.emplace_back("--reference");
    else
      for (std::string& word : tensorrt_words(command.build)) words.push_back(std::move(word));
  }
  for (std::string& word : data_words(command)) words.push_back(std::move(word));
  if (command.layers) words.emplace_back("--layers");
  const auto tolerances = [&](const char* option, const CommandWords& given) {
    for (const std::string& each : given) {
      words.emplace_back(option);
      words.push_back(each);
    }
    const bool for_all = std::any_of(given.begin(), given.end(), [](const std::string& each) {
      return each.find(':') == std::string::npos;
    });
    if (for_all || compared == 1) return;
    words.emplace_back(option);
    words.emplace_back("1e-5");  // Polygraphy's default
  };
  tolerances("--atol", command.atol);
  tolerances("--rtol", command.rtol);
  return words;
}

}  // namespace vernier
