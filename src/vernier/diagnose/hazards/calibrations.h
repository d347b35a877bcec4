// How the scales of a model have come about: by which calibration, on which data.
#pragma once

#include <string>
#include <vector>

#include "vernier/diagnose/hazards/quantization_hazards.h"

namespace vernier {

struct CalibrationJob {
  const HealedRuns& runs;  // in which the samples are measured, all or the first of them
  const std::vector<NamedData>& samples;
  std::function<bool()> is_late;
};

// The calibration that would make the scales that most sites have, and not those that suit the samples: on
// other data (B19), by another method (B20), on some of the samples (B21), of another graph (B22). Nothing if
// most scales suit, or no calibration is known that makes them.
std::optional<SiteCause> shared_cause(const CalibrationJob& job);

// Ways in which the data of a calibration differ from those that a model is run on.

// Maps the data x at hand to factor * x + offset, which the calibration had.
struct InputMap {
  std::string what;
  double factor = 1, offset = 0;
};

const std::vector<InputMap>& input_maps();

}  // namespace vernier
