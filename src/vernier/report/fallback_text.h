// What runs with its reference semantics, because there is no kernel, takes of a run: see fallback_time.
#pragma once

#include <cstddef>
#include <string>

namespace vernier {

struct FallbackShare {
  size_t steps = 0;
  double share = 0;  // of the time of all steps, 0 to 1; of no use if there are no steps
};

// From this share on reports warn.
inline constexpr double kMostFallback = 0.05;

// One line, or two with the warning, each after `indent` spaces.
std::string fallback_text(const FallbackShare& fallback, size_t indent);

}  // namespace vernier
