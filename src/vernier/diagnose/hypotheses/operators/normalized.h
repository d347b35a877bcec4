// Normalisations of rows computed by other rules: other statistics, of other elements, applied otherwise.
#pragma once

#include "vernier/diagnose/causes/member.h"

namespace vernier {

// LayerNormalization and its like: what is normalised is the operand itself, by its own statistics.
bool normalises_rows(const Member& member);

// The elements that are normalised as one.
struct Grouping {
  std::vector<size_t> group;      // of each element of the first operand
  std::vector<bool> counts = {};  // whether the element goes into the statistics; empty: all do
};

// As the node says: in one piece, or along the axes of MeanVarianceNormalization.
Grouping right_grouping(const Member& member);
// All elements that differ in these axes alone.
Grouping grouping_along(const Member& member, const std::vector<int64_t>& axes);

struct Statistics {
  double mean = 0, variance = 0, mean_square = 0, mean_deviation = 0;
  double count = 0, epsilon = 0;
};

// An element that is `value`, normalised; and the result for that, of its scale and bias (1 and 0 where the
// node has none).
using NormalRule = std::function<double(double value, const Statistics&)>;
using AffineRule = std::function<double(double normalised, double scale, double bias)>;

double right_rule(const Member& member, double value, const Statistics& row);

// Computes the node by these rules; the default is what the node says.
Tensors normalised(const Member& member, const Grouping& grouping, const NormalRule& rule,
                   const AffineRule& affine = nullptr);

}  // namespace vernier
