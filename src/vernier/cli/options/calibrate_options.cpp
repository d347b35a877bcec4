#include "vernier/cli/options/calibrate_options.h"

#include "vernier/cli/checks.h"

namespace vernier {

namespace {

constexpr const char* kBestMethod = "best";

void declare_files(CLI::App& app, CalibrateArguments& to) {
  const auto file = [&](const char* names, std::string& path, const char* help) {
    app.add_option(names, path, help)->type_name("FILE")->check(must_not_be_empty);
  };
  app.add_option("MODEL", to.model, "an ONNX model")->required();
  file("-o,--output", to.output, "the ranges, for --calibration of other verbs");
  file("--cache", to.cache, "the same as a calibration cache of TensorRT");
  app.add_option("--cache-version", to.cache_version,
                 "the version of TensorRT that the cache is for, 8601 for 8.6.1: others calibrate again")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  file("--qdq", to.qdq, "the model in int8, as ONNX with QuantizeLinear and DequantizeLinear");
  file("--adapted", to.adapted, "the model with the weights that --equalise and the like give it, as ONNX");
}

void declare_ranges(CLI::App& app, CalibrateArguments& to) {
  app.add_option(
         "--method", to.method,
         "how ranges are chosen: minmax, entropy, percentile, mse, or best, the one of these that costs the "
         "outputs least (default: best; of fp8: minmax)")
      ->always_capture_default(false);
  app.add_option("--percentile", to.percentile, "share of the values in a range, of --method percentile")
      ->check(CLI::Range(50.0, 100.0));
  app.add_option("--type", to.type, "what values are quantized to")->check(CLI::IsMember({"int8", "fp8"}));
  app.add_flag("--asymmetric", to.asymmetric,
               "u8 with a zero point for values of both signs, instead of i8 around zero");
  app.add_flag("--all-tensors", to.all_tensors,
               "ranges of all tensors of floats, as TensorRT's caches have them");
}

void declare_weights(CLI::App& app, CalibrateArguments& to) {
  app.add_option(
         "--weights", to.weights,
         "what weights of MatMul and Gemm are quantized to; int4: in blocks, for --int4 of other verbs")
      ->check(CLI::IsMember({"int8", "int4"}));
  app.add_option("--block", to.block, "how many int4 weights of a sum share a scale")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 20));
  app.add_flag("--equalise", to.adapt.equalise,
               "gives channels between two layers the same range of weights in both");
  app.add_flag("--learn-rounding", to.adapt.learn_rounding,
               "rounds each weight up or down so that what its layer sums up changes least");
  app.add_flag("--correct-bias", to.adapt.correct_bias,
               "takes out of biases by how much int8 moves the mean of what a layer sums up");
}

}  // namespace

void CalibrateArguments::declare(CLI::App& app) {
  declare_files(app, *this);
  declare_ranges(app, *this);
  declare_weights(app, *this);
  app.add_option(
         "--rows", rows,
         "split samples along the first axis of all inputs, into so many rows each (0: they stay whole)")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--no-verify", no_verify, "does not run what --qdq writes in ONNX Runtime");
  app.add_flag("--random", random, "calibrate on random inputs");
  data.declare(app);
  app.footer(preprocess_help());
}

// Codes of fp8 lie closer the smaller a value is, so clipping gains nothing.
std::string CalibrateArguments::chosen_method() const {
  return !method.empty() ? method : is_float8() ? "minmax" : kBestMethod;
}

void CalibrateArguments::require_sense() const {
  if (data.is_random() && !random)
    throw usage_error("calibration needs data: ranges of random inputs are not those of real ones")
        .advise("give --data with 100 to 1000 samples, or --random where the ranges do not matter");
  if (!data.is_random() && random) throw usage_error("--random does not go with --data");
  if (is_float8() && !cache.empty())
    throw usage_error("--cache does not go with --type fp8: calibration caches hold scales of int8");
  if (is_float8() && method == kBestMethod)
    throw usage_error("--method best does not go with --type fp8: no engine computes in fp8 here");
  if (is_float8() && asymmetric)
    throw usage_error("--asymmetric does not go with --type fp8, which has no zero point");
  if (is_float8() && (!qdq.empty() || adapt.any()))
    throw usage_error("--qdq, --equalise, --learn-rounding and --correct-bias are for --type int8");
  if (has_int4_weights() && (adapt.learn_rounding || adapt.correct_bias))
    throw usage_error(
        "--learn-rounding and --correct-bias are for the codes of int8, not for --weights int4");
  if (adapt.any() && adapted.empty())
    throw usage_error(
        "--equalise, --learn-rounding and --correct-bias change the model, which is not written")
        .advise("say with --adapted FILE where to write it: the ranges are those of that model");
  if (!adapt.any() && !adapted.empty())
    throw usage_error("--adapted needs --equalise, --learn-rounding or --correct-bias, which adapt a model");
}

CalibrateOptions CalibrateArguments::calibrate_options(uint64_t seed) const {
  CalibrateOptions result;
  result.try_methods = chosen_method() == kBestMethod;
  if (!result.try_methods) result.range.method = parse_range_method(chosen_method());
  result.range.percentile = percentile;
  result.range.float8 = is_float8();
  result.range.asymmetric = asymmetric;
  result.all_floats = all_tensors;
  result.weight_block = has_int4_weights() ? block : 0;
  result.seed = seed;
  return result;
}

std::map<std::string, std::string> CalibrateArguments::effective(uint64_t seed) const {
  const auto yes_or_no = [](bool value) { return value ? "yes" : "no"; };
  std::map<std::string, std::string> all = {{"method", chosen_method()},
                                            {"type", type},
                                            {"weights", weights},
                                            {"asymmetric", yes_or_no(asymmetric)},
                                            {"equalise", yes_or_no(adapt.equalise)},
                                            {"learn-rounding", yes_or_no(adapt.learn_rounding)},
                                            {"correct-bias", yes_or_no(adapt.correct_bias)},
                                            {"tensors", all_tensors ? "all" : "what int8 quantizes"},
                                            {"seed", std::to_string(seed)}};
  if (chosen_method() == "percentile" || chosen_method() == kBestMethod)
    all["percentile"] = fmt::format("{}", percentile);
  if (has_int4_weights()) all["block"] = std::to_string(block);
  if (rows > 0) all["rows"] = std::to_string(rows);
  data.add_effective(all);
  return all;
}

}  // namespace vernier
