// How far a tensor is from its reference, in the usual measures. Everything relative is relative to the
// reference.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "vernier/compare/agreement.h"
#include "vernier/compare/scalar.h"
#include "vernier/compare/sums.h"

namespace vernier {

// Distances between numbers, over the pairs of elements that are finite on both sides.
//
// Nothing here looks good for want of data. Where no pair is finite, everything is NaN. Where a NaN or Inf
// stands on one side only, no distance is finite: distances and required tolerances are +Inf, cosine is NaN,
// SQNR is -Inf. Where double cannot hold a sum of squares (values below 1e-154 or above 1e154), what rests on
// it is NaN.
struct Distances {
  double max_abs = std::numeric_limits<double>::quiet_NaN();
  double mean_abs = max_abs;
  double rmse = max_abs;
  double relative_l2 = max_abs;    // |actual - reference| / |reference|; 0 / 0 is 0
  double cosine = max_abs;         // 1 when both vectors are zero, 0 when one is
  double sqnr_db = max_abs;        // reference power over error power; +Inf without error, NaN without either
  double required_atol = max_abs;  // the smallest atol that passes at the rtol in force
  double required_rtol = max_abs;  // the smallest rtol that passes at the atol in force
  std::optional<double>
      max_ulp;  // in units of the last place of the declared type; real floats and complex only
};

struct Metrics {
  int64_t elements = 0;
  int64_t mismatching = 0;                         // outside the tolerance, NaN and Inf mismatches included
  int64_t nan_mismatches = 0, inf_mismatches = 0;  // positions; an Inf of the other sign is a mismatch
  int64_t nan_in_both = 0, inf_in_both = 0;        // positions that match, but say nothing about distance
  std::optional<Distances> distances;              // not for strings and bool
  std::optional<ErrorHistogram> histogram;         // where there are distances
  std::optional<double> argmax_agreement;          // fraction of rows; only where asked for
  std::optional<double> top_k_agreement;           // fraction of places
};

// The element furthest beyond its tolerance; of those inside it, the nearest to its edge.
struct WorstElement {
  size_t sample = 0;
  std::string part;  // "[2][0]" inside a sequence, else empty
  Dims index;
  Scalar expected, actual;
};

// Metrics of one value over all its tensors: samples and elements of sequences alike.
class MetricsAccumulator {
 public:
  // `declared` is the type of the model: tensors may hold double in place of it. `top_k` > 0 asks for the
  // agreement.
  MetricsAccumulator(ElementType declared, Tolerance tolerance, int64_t top_k = 0);

  // Throws internal_error unless the tensors have equal dims and are of one type, or both of real types.
  void add(const Tensor& reference, const Tensor& actual, size_t sample = 0, const std::string& part = "");
  // `other` was made with the same type and tolerance.
  void merge(const MetricsAccumulator& other);

  Metrics metrics() const;
  const std::optional<WorstElement>& worst() const { return worst_; }  // nothing while no element differs
  const Sums& sums() const { return sums_; }

 private:
  ElementType declared_;
  std::optional<FloatFormat> format_;
  Tolerance tolerance_;
  int64_t top_k_;
  Sums sums_;
  Agreement agreement_;
  std::optional<WorstElement> worst_;
  double worst_excess_ = 0;
};

}  // namespace vernier
