#include "vernier/calibrate/calibrate.h"

#include <chrono>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/calibrate/split_samples.h"
#include "vernier/cli/checks.h"
#include "vernier/cli/data_options.h"
#include "vernier/cli/file_arguments.h"
#include "vernier/cli/progress.h"
#include "vernier/cli/verb.h"
#include "vernier/data/preprocess.h"
#include "vernier/ir/hash.h"
#include "vernier/precision/calibration_file.h"
#include "vernier/report/precision/calibration_report.h"

namespace vernier {

namespace {

constexpr const char* kBestMethod = "best";

struct Options {
  std::string model, output, cache, method, type = "int8";
  DataOptions data;
  double percentile = 99.99;
  int cache_version = CacheHeader().version;
  int64_t rows = 0;  // 0: samples stay whole
  bool asymmetric = false, random = false, all_tensors = false;

  bool is_float8() const { return type == "fp8"; }
  // Codes of fp8 lie closer the smaller a value is, so clipping gains nothing.
  std::string chosen_method() const {
    return !method.empty() ? method : is_float8() ? "minmax" : kBestMethod;
  }
};

void require_sense(const Options& options) {
  if (options.data.is_random() && !options.random)
    throw usage_error("calibration needs data: ranges of random inputs are not those of real ones")
        .advise("give --data with 100 to 1000 samples, or --random where the ranges do not matter");
  if (!options.data.is_random() && options.random) throw usage_error("--random does not go with --data");
  if (options.is_float8() && !options.cache.empty())
    throw usage_error("--cache does not go with --type fp8: calibration caches hold scales of int8");
  if (options.is_float8() && options.method == kBestMethod)
    throw usage_error("--method best does not go with --type fp8: no engine computes in fp8 here");
  if (options.is_float8() && options.asymmetric)
    throw usage_error("--asymmetric does not go with --type fp8, which has no zero point");
}

CalibrateOptions calibrate_options(const Options& options, uint64_t seed) {
  CalibrateOptions result;
  result.try_methods = options.chosen_method() == kBestMethod;
  if (!result.try_methods) result.range.method = parse_range_method(options.chosen_method());
  result.range.percentile = options.percentile;
  result.range.float8 = options.is_float8();
  result.range.asymmetric = options.asymmetric;
  result.all_floats = options.all_tensors;
  result.seed = seed;
  return result;
}

std::map<std::string, std::string> effective(const Options& options, uint64_t seed) {
  std::map<std::string, std::string> all = {{"method", options.chosen_method()},
                                            {"type", options.type},
                                            {"asymmetric", options.asymmetric ? "yes" : "no"},
                                            {"tensors", options.all_tensors ? "all" : "what int8 quantises"},
                                            {"seed", std::to_string(seed)}};
  if (options.chosen_method() == "percentile" || options.chosen_method() == kBestMethod)
    all["percentile"] = fmt::format("{}", options.percentile);
  if (options.rows > 0) all["rows"] = std::to_string(options.rows);
  options.data.add_effective(all);
  return all;
}

// With the name that TensorRT gives the algorithm that is the nearest.
CacheHeader cache_header(const Options& options, RangeMethod method) {
  CacheHeader header;
  header.version = options.cache_version;
  if (method == RangeMethod::kMinMax) header.algorithm = "MinMaxCalibration";
  return header;
}

void write(const Options& options, const std::string& hash, CalibrationReport& report) {
  if (!options.output.empty()) {
    write_file(options.output, scales_json(report.result, hash));
    report.files.push_back(options.output);
  }
  if (!options.cache.empty()) {
    const CacheHeader header = cache_header(options, report.result.range.method);
    write_file(options.cache, tensorrt_cache(scales_of(report.result), header));
    report.files.push_back(options.cache);
  }
}

CalibrationReport calibrate(const Options& options, const CommonOptions& common) {
  require_sense(options);
  CalibrationReport report;
  report.model = options.model;
  report.options = effective(options, common.seed);
  report.environment = environment();
  CalibrateOptions how = calibrate_options(options, common.seed);
  const auto imported = open_model(options.model);
  const std::string hash = hash_to_text(structural_hash(*imported.model.graph));
  report.environment["model " + options.model] = hash_to_text(imported.hash);
  const auto start = std::chrono::steady_clock::now();
  auto data = options.data.open(imported.model, common.seed);
  if (options.rows > 0) data = std::make_unique<SplitSamples>(std::move(data), options.rows);
  {
    Progress progress(common, data->size());
    how.progress = [&](size_t sample, const std::string& origin) {
      progress.stage(fmt::format("sample {}: {}", sample, origin));
    };
    report.result = calibrate(imported.model, *data, how);
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.random)
    report.result.warnings.insert(report.result.warnings.begin(),
                                  "the ranges are those of random inputs, which real data need not have");
  write(options, hash, report);
  return report;
}

}  // namespace

std::function<int()> declare_calibrate(CLI::App& app, CommonOptions& common) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "an ONNX model")->required();
  app.add_option("-o,--output", options->output, "the ranges, for --calibration of other verbs")
      ->type_name("FILE")
      ->check(must_not_be_empty);
  app.add_option("--cache", options->cache, "the same as a calibration cache of TensorRT")
      ->type_name("FILE")
      ->check(must_not_be_empty);
  app.add_option("--cache-version", options->cache_version,
                 "the version of TensorRT that the cache is for, 8601 for 8.6.1: others calibrate again")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option(
         "--method", options->method,
         "how ranges are chosen: minmax, entropy, percentile, mse, or best, the one of these that costs the "
         "outputs least (default: best; of fp8: minmax)")
      ->always_capture_default(false);
  app.add_option("--percentile", options->percentile,
                 "share of the values in a range, of --method percentile")
      ->check(CLI::Range(50.0, 100.0));
  app.add_option("--type", options->type, "what values are quantised to")
      ->check(CLI::IsMember({"int8", "fp8"}));
  app.add_flag("--asymmetric", options->asymmetric,
               "u8 with a zero point for values of both signs, instead of i8 around zero");
  app.add_flag("--all-tensors", options->all_tensors,
               "ranges of all tensors of floats, as TensorRT's caches have them");
  app.add_option(
         "--rows", options->rows,
         "split samples along the first axis of all inputs, into so many rows each (0: they stay whole)")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--random", options->random, "calibrate on random inputs");
  options->data.declare(app);
  app.footer(preprocess_help());
  return [options, &common] {
    try {
      const CalibrationReport report = calibrate(*options, common);
      say(common, calibration_text(report, common.verbosity > 0 ? SIZE_MAX : 20));
      if (!common.json.empty()) write_file(common.json, calibration_json(report));
    } catch (Error& error) {
      if (!error.node().empty()) error.in_file(options->model);
      throw;
    }
    return 0;
  };
}

}  // namespace vernier
