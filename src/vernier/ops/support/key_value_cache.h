// A cache of keys and values whose batch entries are filled to different lengths.
#pragma once

#include "vernier/ops/support/attention.h"

namespace vernier::ops {

// Where the new rows of every batch entry go: behind its old ones, or to the front where all rows are new (a
// prompt).
struct CachePlacement {
  int64_t rows = 0;            // new rows
  int64_t keys = 0;            // rows of the present
  std::vector<int64_t> total;  // of each entry: rows that are valid afterwards
  std::vector<int64_t> past;   // of these, the old ones

  // `last` has the index of the last valid row of each entry, `longest` is the largest number of them. The
  // present has as many rows as the longest entry needs, or as the past has, if that is more. Throws
  // bad_input for lengths that do not fit.
  CachePlacement(const HeadsLayout& added, int64_t past_rows, std::vector<int64_t> last, int64_t longest);

  // The cache after the run: old rows, new rows, zeros; [batch, heads, keys, size].
  Heads present(const Heads& old, const Heads& added) const;
};

}  // namespace vernier::ops
