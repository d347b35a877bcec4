// The one place that says what each option of trtexec becomes.
#include "vernier/base/error.h"
#include "vernier/cli/trtexec/trtexec_values.h"

namespace vernier {

namespace {

using enum OptionValues;
using Table = std::vector<ForeignOption>;

void append(Table& to, Table rows) {
  for (ForeignOption& row : rows) to.push_back(std::move(row));
}

ForeignOption text_option(const char* name, const char* meaning, std::string& to) {
  return mapped_value({name}, meaning, [&to](const std::string& value) { to = value; });
}

ForeignOption flag_option(std::vector<std::string> names, const char* meaning, bool& to) {
  return mapped_flag(std::move(names), meaning, [&to] { to = true; });
}

Table model_options(TrtexecCommand& c) {
  constexpr const char* kOldFormat = "Caffe and UFF models are not read; convert the model to ONNX";
  return {
      text_option("--onnx", "the model", c.onnx),
      text_option("--loadEngine", "bench of an engine file that Vernier built", c.load_engine),
      text_option("--saveEngine", "build -o", c.save_engine),
      flag_option({"--skipInference", "--buildOnly"}, "build, without bench", c.skip_inference),
      refused({"--deploy", "--model", "--uff", "--uffInput"}, kOne, kOldFormat),
      refused({"--uffNHWC"}, kNone, kOldFormat),
      ignored({"--output"}, kOne, "the outputs of an ONNX model are those that it declares"),
      ignored({"--explicitBatch"}, kNone, "the batch of an ONNX model is always one of its dimensions"),
      mapped_value({"--batch", "--maxBatch"}, "1 changes nothing; others are refused",
                   [](const std::string& text) {
                     if (text == "1") return;
                     throw unsupported("--batch={}: the batch of an ONNX model is one of its dimensions",
                                       text)
                         .advise("give the sizes of the inputs by --shapes");
                   }),
      refused({"--getPlanVersionOnly"}, kNone, "an engine file of Vernier is shown by `vernier inspect`"),
      ignored({"--asyncFileReader"}, kNone, "engine files are mapped into memory"),
  };
}

Table shape_options(TrtexecCommand& c) {
  const auto profile = [&c]() -> TrtexecProfile& {
    if (c.profiles.size() <= c.profile) c.profiles.resize(c.profile + 1);
    return c.profiles[c.profile];
  };
  return {
      mapped_value({"--minShapes"}, "--min-shapes",
                   [=](const std::string& text) { add_sizes(profile().min, "--minShapes", text); }),
      mapped_value({"--optShapes"}, "--opt-shapes",
                   [=](const std::string& text) { add_sizes(profile().opt, "--optShapes", text); }),
      mapped_value({"--maxShapes"}, "--max-shapes",
                   [=](const std::string& text) { add_sizes(profile().max, "--maxShapes", text); }),
      mapped_value({"--shapes"}, "--shapes",
                   [&c](const std::string& text) { add_sizes(c.shapes, "--shapes", text); }),
      mapped_value({"--profile"}, "the profile that the following sizes belong to",
                   [&c](const std::string& text) {
                     constexpr size_t kMost = 64;
                     c.profile = option_count("--profile", text, 0);
                     if (c.profile >= kMost) throw usage_error("--profile: {} is too many", c.profile);
                   }),
      mapped_value({"--useProfile"}, "the profile whose sizes are measured",
                   [&c](const std::string& text) { c.used_profile = option_count("--useProfile", text, 0); }),
      refused({"--minShapesCalib", "--optShapesCalib", "--maxShapesCalib"}, kOne,
              "calibration is `vernier calibrate`, of data that have their sizes"),
      ignored({"--calibProfile"}, kOne, "calibration is `vernier calibrate`, of data that have their sizes"),
  };
}

Table precision_options(TrtexecCommand& c) {
  constexpr const char* kNoType = "the CPU engine does not compute in this type";
  return {
      flag_option({"--fp16"}, "--fp16", c.fp16),
      flag_option({"--bf16"}, "--bf16", c.bf16),
      flag_option({"--int8"}, "--int8", c.int8),
      flag_option({"--best"}, "--best: the types that this machine computes fast", c.best),
      refused({"--fp8", "--int4", "--fp4"}, kNone, kNoType),
      ignored({"--noTF32"}, kNone, "the CPU engine never rounds to TF32"),
      ignored({"--stronglyTyped"}, kNone,
              "without other options an engine computes in the types that the model declares"),
      mapped_value({"--precisionConstraints"}, "--precision-constraints (default here: prefer)",
                   [&c](const std::string& text) {
                     if (text != "none" && text != "obey" && text != "prefer")
                       throw usage_error("--precisionConstraints: '{}' is not none, obey or prefer", text);
                     c.constraints = text;
                   }),
      mapped_value(
          {"--layerPrecisions"}, "--layer-precisions, by names of ONNX nodes",
          [&c](const std::string& text) { c.layer_precisions = layer_types("--layerPrecisions", text); }),
      mapped_value(
          {"--layerOutputTypes"}, "--layer-output-types, by names of ONNX nodes",
          [&c](const std::string& text) { c.layer_output_types = layer_types("--layerOutputTypes", text); }),
      text_option("--calib", "--calibration", c.calibration),
      mapped_value({"--sparsity"}, "disable and enable change nothing: no kernel uses sparse weights",
                   [](const std::string& text) {
                     if (text == "force")
                       throw unsupported("--sparsity=force changes the weights of the model");
                     if (text != "disable" && text != "enable")
                       throw usage_error("--sparsity: '{}' is not disable, enable or force", text);
                   }),
      mapped_value({"--inputIOFormats", "--outputIOFormats"}, "fp32:chw changes nothing; others are refused",
                   require_plain_formats),
  };
}

Table search_options(TrtexecCommand& c) {
  constexpr const char* kOfTensorRT = "it steers how TensorRT tries its kernels";
  constexpr const char* kPortable =
      "engine files of Vernier load with the processor and version that they name, and say so otherwise";
  constexpr const char* kNoRoutes = "routes are knobs of TensorRT's compiler";
  return {
      mapped_value({"--workspace"}, "--workspace, in MiB",
                   [&c](const std::string& text) { c.workspace = text; }),
      mapped_value({"--memPoolSize"}, "--workspace; there are no other pools",
                   [&c](const std::string& text) {
                     if (const std::string size = workspace_of_pools(text); !size.empty()) c.workspace = size;
                   }),
      text_option("--timingCacheFile", "--timing-cache", c.timing_cache),
      text_option("--builderOptimizationLevel", "--opt-level", c.level),
      flag_option({"--stripWeights"}, "--strip-weights", c.strip_weights),
      refused({"--stripAllWeights", "--weightless"}, kNone,
              "`build --strip-weights` leaves out what the model holds"),
      ignored({"--avgTiming", "--minTiming", "--maxTactics", "--maxAuxStreams", "--tilingOptimizationLevel",
               "--l2LimitForTiling", "--preview", "--quantizationFlags"},
              kOne, kOfTensorRT),
      ignored({"--tacticSources"}, kOne, "it names libraries of CUDA"),
      ignored({"--noBuilderCache", "--noCompilationCache", "--disableTimingCache"}, kNone,
              "nothing is cached unless --timingCacheFile says where"),
      refused({"--errorOnTimingCacheMiss"}, kNone, "a build times what its cache does not hold"),
      ignored({"--refit"}, kNone, "every engine can be refitted, by `build --refit`"),
      refused({"--refitFromOnnx"}, kOne, "`vernier build MODEL --refit ENGINE` does this"),
      ignored({"--versionCompatible", "--vc", "--excludeLeanRuntime"}, kNone, kPortable),
      ignored({"--hardwareCompatibilityLevel", "--runtimePlatform", "--useRuntime", "--leanDLLPath"}, kOne,
              kPortable),
      ignored({"--tempdir", "--tempfileControls"}, kOne,
              "a build writes no files but those that are asked for"),
      mapped_value({"--profilingVerbosity"}, "detailed: more of each layer in --exportLayerInfo",
                   [&c](const std::string& text) { c.detailed = text == "detailed" || text == "verbose"; }),
      ignored({"--nvtxMode"}, kOne, "it is for profilers of NVIDIA"),
      ignored({"--distributiveIndependence", "--decomposableAttentions", "--restricted", "--directIO",
               "--consistency", "--monitorMemory", "--pluginInstanceNorm", "--pi", "--allowWeightStreaming",
               "--heuristic"},
              kNone, kOfTensorRT),
      refused({"--setBuildRoute", "--tuneBuildRoutes", "--tuneBuildRouteFile", "--tuningSearch",
               "--tuningCacheFile", "--tuningResultFile", "--tuningTimeOut", "--helpBuildRoute"},
              kOne, kNoRoutes),
      refused({"--continue", "--dryRun", "--saveAllEngines"}, kNone, kNoRoutes),
      ignored({"--cpuOnly"}, kNone, "the engine is built on the CPU, and for it"),
      refused({"--safe", "--buildDLAStandalone", "--reportCapabilityDLA", "--dumpKernelText"}, kNone,
              "there is no safety runtime and no DLA"),
  };
}

Table device_options() {
  constexpr const char* kNoPlugins = "plugins of TensorRT are compiled for its interface and for CUDA";
  constexpr const char* kNoDla = "there is no DLA";
  return {
      ignored({"--device"}, kOne, "it chooses a GPU, and the engine runs on the CPU"),
      refused({"--useDLACore"}, kOne, kNoDla),
      refused({"--uint8AsymmetricQuantizationDLA", "--adjustForDLA"}, kNone, kNoDla),
      refused({"--layerDeviceTypes"}, kOne, kNoDla),
      ignored({"--allowGPUFallback"}, kNone, kNoDla),
      refused(
          {"--plugins", "--staticPlugins", "--dynamicPlugins", "--setPluginsToSerialize", "--safetyPlugins"},
          kOne, kNoPlugins),
      ignored({"--ignoreParsedPluginLibs", "--enablePluginOverride"}, kNone, kNoPlugins),
  };
}

}  // namespace

std::vector<ForeignOption> trtexec_options(TrtexecCommand& command) {
  Table table = model_options(command);
  append(table, shape_options(command));
  append(table, precision_options(command));
  append(table, search_options(command));
  append(table, trtexec_measuring_options(command));
  append(table, device_options());
  return table;
}

}  // namespace vernier
