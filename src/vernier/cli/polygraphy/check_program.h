// The program that `polygraphy debug` asks at every step whether what was made is right.
#pragma once

#include "vernier/cli/polygraphy/polygraphy_command.h"

namespace vernier {

struct CheckEnd {
  int status = 0;  // negative: the signal that ended it, as Polygraphy counts it
  std::string output, errors;
};

// Runs the words as a command, without a shell, and waits for it. Throws bad_input where it cannot be
// started, so that a program that is not there is no verdict.
CheckEnd run_check(const CommandWords& words);

// Whether this end is a pass, by --fail-code, --ignore-fail-code and --fail-regex.
bool passes(const PolygraphyDebug& debug, const CheckEnd& end);

// Steps of `polygraphy debug`: each makes the artifact, asks the program, and sorts files.
class CheckedSteps {
 public:
  explicit CheckedSteps(const PolygraphyDebug& debug) : debug_(debug) {}

  // `make` writes the artifact, or gives false where there is none to ask about, which is a failure. Prints
  // what Polygraphy prints; gives whether the program passed it. `remaining` < 0: not known.
  bool step(const std::function<bool()>& make, int remaining);
  // Prints how many steps there were, and how many of them passed.
  void finish() const;
  size_t count() const { return count_; }

 private:
  bool ask();
  void sort_artifacts(bool passed) const;

  const PolygraphyDebug& debug_;
  size_t count_ = 0, passed_ = 0;
};

}  // namespace vernier
