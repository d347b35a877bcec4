#include "vernier/compare/distance.h"

#include "vernier/compare/element_block.h"

namespace vernier {

namespace {

struct SquareSums {
  double errors = 0, references = 0;
  double largest_error = 0, largest_reference = 0;

  void add(const ElementBlock& block) {
    for (size_t i = 0; i < static_cast<size_t>(block.count); ++i) {
      const double error = block.error[i], reference = block.reference[i];
      errors += error * error;
      references += reference * reference;
      largest_error = std::max(largest_error, error);
      largest_reference = std::max(largest_reference, std::abs(reference));
    }
  }
  void merge(const SquareSums& other) {
    errors += other.errors;
    references += other.references;
    largest_error = std::max(largest_error, other.largest_error);
    largest_reference = std::max(largest_reference, other.largest_reference);
  }
  // Whether all elements are finite and double holds the sums.
  bool are_held() const {
    const auto held = [](double sum, double largest) { return largest == 0 ? sum == 0 : std::isnormal(sum); };
    return held(errors, largest_error) && held(references, largest_reference);
  }
};

}  // namespace

Distances distances_of(const Tensor& reference, const Tensor& actual) {
  MetricsAccumulator accumulator(actual.type(), {});
  accumulator.add(reference, actual);
  return accumulator.metrics().distances.value_or(Distances());
}

double relative_l2_of(const Tensor& reference, const Tensor& actual) {
  const bool are_floats = is_float(reference.type()) && is_float(actual.type());
  if (are_floats && reference.size() > 0 && reference.dims() == actual.dims()) {
    const SquareSums sums = sum_blocks<SquareSums>(
        reference, actual, [](SquareSums& each, const ElementBlock& block) { each.add(block); });
    if (sums.are_held()) return sums.errors == 0 ? 0 : std::sqrt(sums.errors) / std::sqrt(sums.references);
  }
  return distances_of(reference, actual).relative_l2;
}

}  // namespace vernier
