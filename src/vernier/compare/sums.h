// One pass over pairs of elements leaves this behind: counts, sums and extremes that can be merged.
#pragma once

#include <limits>
#include <optional>

#include "vernier/compare/element_block.h"
#include "vernier/compare/histogram.h"
#include "vernier/compare/tolerance.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

struct Sums {
  int64_t elements = 0, mismatching = 0;
  int64_t nan_mismatches = 0, inf_mismatches = 0, nan_in_both = 0, inf_in_both = 0;

  // Over the pairs that are finite on both sides.
  int64_t finite = 0;
  double error_sum = 0, error_squares = 0, reference_squares = 0, actual_squares = 0, products = 0;
  double max_error = 0, max_ulp = 0;
  ErrorHistogram histogram;
  // Smallest atol at the given rtol, and the other way round, that accept every finite pair.
  double required_atol = 0, required_rtol = 0;

  // Evidence: what the reference and the actual values are at all. NaN does not count.
  double reference_min = std::numeric_limits<double>::infinity();
  double reference_max = -std::numeric_limits<double>::infinity();
  bool reference_nonzero = false, actual_nonzero = false;

  // The element furthest beyond its tolerance, or nearest to it, among those that differ.
  int64_t worst_index = -1;
  double worst_excess = 0;

  void add(const ElementBlock& block, const Tolerance& tolerance, const std::optional<FloatFormat>& format);
  void merge(const Sums& other);
  void offer_worst(double excess, int64_t index);

 private:
  void add_finite_error(double error, double reference, const Tolerance& tolerance,
                        const std::optional<FloatFormat>& format, int64_t index);
  void add_special(double reference, double actual, double error, int64_t index);
};

// All elements of two tensors; strings too, by equality. Same conditions as ElementBlock::load.
Sums sum_up(const Tensor& reference, const Tensor& actual, const Tolerance& tolerance,
            const std::optional<FloatFormat>& format);

}  // namespace vernier
