// Two runners that are right or wrong on the same rows: what the rows on which they differ tell.
#pragma once

#include <cstdint>

#include "vernier/evaluate/statistics/interval.h"

namespace vernier {

// Wilson's score interval of a share.
ConfidenceInterval wilson_interval(double hits, double rows, double confidence);

// Counts of rows; real numbers, so that it can be asked what more rows of the same kind would tell.
struct PairedCounts {
  double rows = 0;
  double lost = 0;    // the first is right and the second is wrong
  double gained = 0;  // the other way round

  double drop() const { return rows > 0 ? (lost - gained) / rows : 0; }
};

// The probability of counts at least as uneven where both runners are equally good: McNemar's test, exact
// and two-sided.
double mcnemar_exact(uint64_t lost, uint64_t gained);

// How many standard deviations the drop that was seen lies above `drop`, by the score statistic of Tango
// (Statistics in Medicine 17, 1998). Infinite where that drop cannot be.
double tango_score(const PairedCounts& counts, double drop);
// The drops that this test does not refuse.
ConfidenceInterval tango_interval(const PairedCounts& counts, double confidence);

}  // namespace vernier
