// The lines by which scripts tell how a command of Polygraphy ended. All of them go to standard output, as
// Polygraphy's do.
#pragma once

#include <chrono>
#include <string>

#include "vernier/cli/foreign/foreign_options.h"
#include "vernier/report/report.h"

namespace vernier {

// "[I] text": I for what is told, E for what failed.
std::string polygraphy_line(char severity, const std::string& text);

// A line for each output, one for all of them, and the summary of each pair of runners. An output is said to
// have passed where its verdict is a pass over all samples, and nowhere else.
std::string polygraphy_comparison_text(const Report& report);

// Prints "RUNNING | Command: …" when it is made.
class PolygraphyClosing {
 public:
  explicit PolygraphyClosing(const CommandWords& words);
  // Prints "PASSED | Runtime: 0.123s | Command: …", or FAILED for any status but 0, which it gives back.
  int close(int status) const;

 private:
  std::string command_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace vernier
