// Caches of keys and values: a past input [batch, heads, rows, size], behind which new rows go, and the
// present output with both.
#pragma once

#include "vernier/ops/support/attention/attention.h"

namespace vernier::ops {

// Rows of the optional input `past`, which are its last axis but one: 0 where it is left out, nothing where
// its rank is unknown. Throws bad_input for another rank.
std::optional<Dim> past_rows(const InferContext& context, size_t past, size_t rank = 4);

// The past and behind it the rows of `added`; stored as output `present`, if that is wanted.
Heads append_to_cache(ReferenceContext& context, size_t past, size_t present, const Heads& added);

// The past as a buffer, whose rows from `first` on become those of `added`; stored as output `present`.
Heads write_to_cache(ReferenceContext& context, size_t past, size_t present, const Heads& added,
                     int64_t first);

// Where the new rows go in a cache whose batch entries are filled to different lengths: behind the old ones
// of the entry, or to the front where all rows are new (a prompt).
struct CachePlacement {
  int64_t rows = 0;            // new rows
  int64_t keys = 0;            // rows of the present
  std::vector<int64_t> total;  // of each entry: rows that are valid afterwards
  std::vector<int64_t> past;   // of these, the old ones

  // `last` has the index of the last valid row of each entry, `longest` is the largest number of them. The
  // present has as many rows as the longest entry needs, or as the past has, if that is more. Throws
  // bad_input for lengths that do not fit.
  CachePlacement(const HeadsLayout& added, int64_t past_rows, std::vector<int64_t> last, int64_t longest);

  // The cache after the run, old rows of the optional input `past_input`, new rows and zeros, [batch, heads,
  // keys, size]; stored as output `present`.
  Heads store_present(ReferenceContext& context, size_t past_input, size_t present, const Heads& added) const;

 private:
  Heads joined(const Heads& old, const Heads& added) const;
};

}  // namespace vernier::ops
