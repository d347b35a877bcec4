// Normalisation of rows: y = (x - mean) / sqrt(variance + epsilon) * scale + bias.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// x is seen as an array of sizes `dims`; a row is what the axes from `axis` on span. Scale and bias broadcast
// to `dims`.
struct Normalisation {
  Dims dims;
  size_t axis = 0;
  bool centred = true;  // false: no mean is taken off, and the variance is the mean square
  double epsilon = 0;
  Dims scale_dims, bias_dims;
};

struct RowStatistics {
  std::vector<double> mean, inverse_deviation;  // one for each row
};

// Normalises `values`, in place, by a scale and a bias (empty: 0), and gives the rows' statistics.
RowStatistics normalise_values(std::span<double> values, const Normalisation& normalisation,
                               std::span<const double> scale, std::span<const double> bias);
// Normalises input 0 by scale (input 1) and bias (input 2, if any), stores output 0 and gives the rows'
// statistics.
RowStatistics normalise_rows(ReferenceContext& context, const Normalisation& normalisation);

// Where a normalisation of rows has what (LayerNormalization, RMSNormalization, SimplifiedLayerNormalization,
// and SkipLayerNormalization and SkipSimplifiedLayerNormalization of com.microsoft); -1: it has none.
struct RowNormalizationPlaces {
  bool centred = true;
  int scale = 1, bias = 2, skip = -1, addend = -1;  // inputs
  int mean = -1, inverse_deviation = -1, sum = -1;  // outputs
};

RowNormalizationPlaces row_normalization_places(const Node& node);

}  // namespace vernier::ops
