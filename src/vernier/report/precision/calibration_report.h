// Reports what `calibrate` found, as text and as JSON.
#pragma once

#include <map>
#include <string>

#include "vernier/calibrate/weights/adapt_weights.h"

namespace vernier {

struct CalibrationReport {
  std::string model;
  std::map<std::string, std::string> options, environment;
  CalibrationResult result;
  std::optional<AdaptedModel> adapted;  // `result` is of its model then; without the model itself
  double seconds = 0;                   // of reading data, running the model and choosing ranges
  std::vector<std::string> checks;      // what running the file in int8 showed, or why it was not run
  std::vector<std::string> files;       // that were written
};

std::string calibration_text(const CalibrationReport& report, size_t max_rows);
// Schema "vernier-calibrate", version 1.
std::string calibration_json(const CalibrationReport& report);

}  // namespace vernier
