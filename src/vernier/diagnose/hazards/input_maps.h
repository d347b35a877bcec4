// Ways in which the data of a calibration differ from those that a model is run on.
#pragma once

#include <string>
#include <vector>

namespace vernier {

// What the calibration had is factor * x + offset, of the data x at hand.
struct InputMap {
  std::string what;
  double factor = 1, offset = 0;
};

const std::vector<InputMap>& input_maps();

}  // namespace vernier
