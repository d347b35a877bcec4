#include "vernier/compare/decision.h"

#include <fmt/format.h>

namespace vernier {

void Decision::merge(const Decision& other_sample) {
  const int64_t rows = rows_swapped + other_sample.rows_swapped;
  if (other_sample.margin > margin) *this = other_sample;
  rows_swapped = rows;
}

std::string Decision::text() const {
  const bool orders = op == "TopK" || op == "NonMaxSuppression";
  const char* plural = rows_swapped == 1 ? "" : "s";
  return fmt::format(
      "decided by a tie: {} '{}' chose between {:.3g} and {:.3g} (margin {:.2g}, error that reached it "
      "{:.2g}); "
      "{} {}; the rest agrees",
      op, node, chosen, other, margin, error, rows_swapped,
      orders ? fmt::format("row{} matched across the swap", plural)
             : fmt::format("element{} decided the other way", plural));
}

}  // namespace vernier
