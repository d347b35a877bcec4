// Warns of what makes ranges doubtful. Internal to the room.
#pragma once

#include "vernier/calibrate/calibrate.h"

namespace vernier {

// A sentence each: too few samples, an interruption, ranges that depend on which samples were taken, tensors
// without a range to speak of, dead channels, and contractions in regions, which stay float. `result` is
// complete but for its warnings.
std::vector<std::string> calibration_warnings(const CalibrationResult& result,
                                              const std::vector<std::string>& hidden_nodes);

}  // namespace vernier
