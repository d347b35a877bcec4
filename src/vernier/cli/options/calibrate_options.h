// Reads what `vernier calibrate` is asked for.
#pragma once

#include "vernier/calibrate/weights/adapt_weights.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/precision/calibration_file.h"

namespace vernier {

struct CalibrateArguments {
  std::string model, output, cache, qdq, adapted, method, type = "int8", weights = "int8";
  DataOptions data;
  AdaptOptions adapt;
  double percentile = 99.99;
  int cache_version = CacheHeader().version;
  int64_t rows = 0;  // 0: samples stay whole
  int64_t block = 32;
  bool asymmetric = false, random = false, all_tensors = false;
  bool no_verify = false;  // what --qdq writes is not run

  void declare(CLI::App& app);
  // Throws usage_error for options that exclude each other.
  void require_sense() const;
  CalibrateOptions calibrate_options(uint64_t seed) const;
  // As they are in force, for the report.
  std::map<std::string, std::string> effective(uint64_t seed) const;

  bool has_int4_weights() const { return weights == "int4"; }

 private:
  bool is_float8() const { return type == "fp8"; }
  std::string chosen_method() const;
};

}  // namespace vernier
