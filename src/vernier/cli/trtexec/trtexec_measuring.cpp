#include "vernier/base/error.h"
#include "vernier/cli/trtexec/trtexec_values.h"

namespace vernier {

namespace {

using enum OptionValues;
using Table = std::vector<ForeignOption>;

ForeignOption count_option(const std::string& name, const char* meaning, size_t least, size_t& to) {
  return mapped_value({name}, meaning,
                      [name, least, &to](const std::string& text) { to = option_count(name, text, least); });
}

ForeignOption number_option(const std::string& name, const char* meaning, double& to) {
  return mapped_value({name}, meaning,
                      [name, &to](const std::string& text) { to = option_number(name, text, 0); });
}

// A pause of 0 is none.
ForeignOption pause_option(const std::string& name) {
  return mapped_value({name}, "0 changes nothing; others are refused", [name](const std::string& text) {
    if (option_number(name, text, 0) > 0) throw unsupported("{}={}: bench runs without pauses", name, text);
  });
}

Table inference_options(TrtexecCommand& c) {
  constexpr const char* kOfQueue = "the CPU engine has no queue and copies nothing to a device";
  constexpr const char* kReferences =
      "compare with `vernier run MODEL --engine FILE --load-run RUN`, where a missing output or a NaN fails";
  constexpr const char* kTaps = "inner values are shown by `vernier run MODEL --cpu --layers`";
  return {
      mapped_value({"--loadInputs"}, "--data NAME=FILE; a file must have exactly the size of its input",
                   [&c](const std::string& text) {
                     for (std::string& file : input_files(text)) c.data.push_back(std::move(file));
                   }),
      count_option("--iterations", "--runs", 0, c.iterations),
      number_option("--duration", "--duration", c.duration),
      number_option("--warmUp", "--warmup, in ms there", c.warm_up),
      mapped_value({"--streams", "--infStreams"}, "--sessions, for the throughput",
                   [&c](const std::string& text) { c.streams = option_count("--streams", text, 1); }),
      pause_option("--sleepTime"),
      pause_option("--idleTime"),
      ignored({"--threads"}, kNone, "each session runs in a thread of its own"),
      ignored({"--useCudaGraph", "--noCudaGraph", "--useSpinWait", "--noSpinWait", "--noDataTransfers",
               "--includeDataTransfers", "--exposeDMA", "--useManagedMemory"},
              kNone, kOfQueue),
      ignored({"--separateProfileRun"}, kNone, "steps are always timed in runs of their own"),
      ignored({"--persistentCacheRatio", "--allocationStrategy", "--weightStreamingBudget"}, kOne,
              "memory of the CPU needs no such choice"),
      refused({"--timeDeserialize", "--timeRefit"}, kNone,
              "bench reports load_ms of an engine file by --json"),
      refused(
          {"--loadRefOutputs", "--refPair", "--accuracyAlgorithm", "--accuracyThreshold", "--atol", "--rtol"},
          kOne, kReferences),
      refused({"--markDebug", "--saveDebugTensors", "--saveAllDebugTensors"}, kOne, kTaps),
      refused({"--markUnfusedTensorsAsDebugTensors"}, kNone, kTaps),
      refused({"--remoteAutoTuningConfig"}, kOne, "engines are tuned on the machine that builds them"),
  };
}

Table reporting_options(TrtexecCommand& c) {
  const auto flag = [](const char* name, const char* meaning, bool& to) {
    return mapped_flag({name}, meaning, [&to] { to = true; });
  };
  const auto file = [](const char* name, const char* meaning, std::string& to) {
    return mapped_value({name}, meaning, [&to](const std::string& path) { to = path; });
  };
  return {
      flag("--verbose", "the reports of Vernier's own commands, too", c.verbose),
      mapped_value({"--avgRuns"}, "averages of so many runs are printed",
                   [&c](const std::string& text) {
                     c.average_runs = option_count("--avgRuns", text, 1);
                     c.averages = true;
                   }),
      mapped_value({"--percentile"}, "the percentiles of the summary",
                   [&c](const std::string& text) { c.percentiles = trtexec_percentiles(text); }),
      flag("--dumpProfile", "the time of each step, by --profile", c.dump_profile),
      flag("--dumpLayerInfo", "the kernel and the ONNX nodes of each step", c.dump_layers),
      flag("--dumpOutput", "what the engine yields on the sample", c.dump_output),
      file("--exportTimes", "the time of each run, as trtexec writes it", c.export_times),
      file("--exportProfile", "the time of each step, as trtexec writes it", c.export_profile),
      file("--exportLayerInfo", "the steps, as trtexec writes layers", c.export_layers),
      file("--exportOutput", "what the engine yields on the sample, as trtexec writes it", c.export_output),
      ignored({"--dumpRefit", "--dumpOptimizationProfile"}, kNone, "`vernier inspect ENGINE` shows it"),
      refused({"--dumpRawBindingsToFile"}, kNone,
              "--exportOutput writes outputs as JSON, and `vernier run --save-run` as safetensors"),
  };
}

}  // namespace

std::vector<ForeignOption> trtexec_measuring_options(TrtexecCommand& command) {
  Table table = inference_options(command);
  for (ForeignOption& row : reporting_options(command)) table.push_back(std::move(row));
  return table;
}

}  // namespace vernier
