// A range of numbers that holds what is estimated with a stated confidence.
#pragma once

namespace vernier {

struct ConfidenceInterval {
  double low = 0, high = 0;
};

}  // namespace vernier
