// The rows of two runners, side by side. Internal to the room.
#pragma once

#include "vernier/evaluate/outcome.h"

namespace vernier {

struct PairedScores {
  // Throws bad_input unless both have the same rows. The runner may be the baseline itself.
  PairedScores(const EvaluationPart& whole, size_t metric, size_t against, size_t runner);

  RowScores baseline, runner;

  // Rows that lost, and rows that gained.
  PairedCounts counts() const;
  // Whether both have the same scores throughout.
  bool are_equal() const;
  // Rows that score differently: how many lower and higher, and those that lost most. Of two that are right
  // or wrong, those that flipped.
  std::vector<EvaluationOutcome::Change> changes(bool higher_is_better, size_t& lost, size_t& gained) const;

 private:
  struct Place {
    size_t sample, row;
    const std::string* origin;
  };
  std::vector<Place> places_;
};

}  // namespace vernier
