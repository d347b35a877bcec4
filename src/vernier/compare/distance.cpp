#include "vernier/compare/distance.h"

#include <cfloat>

#include "vernier/base/threads.h"

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

// One partial sum per range, merged in order, as in sum_up().
SquareSums square_sums(const Tensor& reference, const Tensor& actual) {
  constexpr int64_t kGrain = int64_t{1} << 16;
  std::vector<SquareSums> parts(static_cast<size_t>((reference.size() + kGrain - 1) / kGrain));
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    const auto block = std::make_unique<ElementBlock>();
    for (int64_t part = begin; part < end; ++part) {
      const int64_t last = std::min(reference.size(), (part + 1) * kGrain);
      for (int64_t first = part * kGrain; first < last; first += ElementBlock::kCapacity) {
        block->load(reference, actual, first, std::min(ElementBlock::kCapacity, last - first));
        parts[static_cast<size_t>(part)].add(*block);
      }
    }
  });
  SquareSums total;
  for (const SquareSums& part : parts) total.merge(part);
  return total;
}

}  // namespace

Distances distances_of(const Tensor& reference, const Tensor& actual) {
  MetricsAccumulator accumulator(actual.type(), {});
  accumulator.add(reference, actual);
  return accumulator.metrics().distances.value_or(Distances());
}

double relative_l2_of(const Tensor& reference, const Tensor& actual) {
  const bool are_floats = is_float(reference.type()) && is_float(actual.type());
  if (are_floats && reference.size() > 0 && reference.dims() == actual.dims()) {
    const SquareSums sums = square_sums(reference, actual);
    if (sums.are_held()) return sums.errors == 0 ? 0 : std::sqrt(sums.errors) / std::sqrt(sums.references);
  }
  return distances_of(reference, actual).relative_l2;
}

}  // namespace vernier
