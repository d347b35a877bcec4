// A discrete decision of a model (an order, an index, a rounding, a comparison) that a tie let come out
// otherwise on the other side.
#pragma once

#include <cstdint>
#include <string>

namespace vernier {

struct Decision {
  std::string node, op;  // "top", "TopK"
  // The two values between which it chose, in the reference, where they are furthest apart: the one that the
  // reference took, and the one that the actual side took. Of a rounding, the value and the boundary.
  double chosen = 0, other = 0;
  double margin = 0;  // |chosen - other|
  // By how much that difference may have moved on the way: the differences of both values between the sides,
  // or, where the actual side does not show them, what rounding noise does to the reference's. At least
  // `margin`.
  double error = 0;
  // Elements of its result that came out otherwise: places of an order, indices, results of comparisons. Over
  // all samples.
  int64_t rows_swapped = 0;

  // Another sample's: adds the rows, and keeps the values of the larger margin.
  void merge(const Decision& other_sample);
  // "decided by a tie: TopK 'top' chose between 0.731 and 0.731 (margin 1.2e-07, …"
  std::string text() const;
};

}  // namespace vernier
