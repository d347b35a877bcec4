// Whether a runner is worse than another by less than a limit, and whether the rows suffice to tell.
#pragma once

#include <optional>
#include <string>

#include "vernier/compare/verdict.h"
#include "vernier/evaluate/statistics/bootstrap.h"
#include "vernier/evaluate/statistics/paired_proportions.h"

namespace vernier {

// Holds what the rows say of a drop: how sure it is that it is below, and above, the limit.
struct GateEvidence {
  double drop = 0;
  double p_below = 1;  // of rows like these where the drop is the limit or more
  double p_above = 1;  // … where it is less
  double bound = 1;    // with 95 % confidence the drop is below this
  // Rows with which the same drop would be told from the limit; nothing where no number would do.
  std::optional<double> rows_needed;
  std::string doubt;  // why the figures are worth nothing; mostly empty
};

inline constexpr double kConfidence = 0.95;

// Non-inferiority by Tango's score test. `level`: the p-value that is asked of p_below, which is smaller than
// 0.05 where several metrics are judged.
GateEvidence evidence_of(const PairedCounts& counts, double limit, double level);
// The same by the bootstrap of the drop.
GateEvidence evidence_of(const Bootstrap& drop, size_t rows, double limit, double level);

// Pass: the drop is below the limit with 95 % confidence; `p_adjusted` is p_below, adjusted where several
// metrics are judged. Fail: it is above the limit with that confidence. Mistrusted: the rows do not tell.
Verdict verdict_of(const GateEvidence& evidence, double p_adjusted);

}  // namespace vernier
