#include "vernier/compare/distance.h"

namespace vernier {

Distances distances_of(const Tensor& reference, const Tensor& actual) {
  MetricsAccumulator accumulator(actual.type(), {});
  accumulator.add(reference, actual);
  return accumulator.metrics().distances.value_or(Distances());
}

}  // namespace vernier
