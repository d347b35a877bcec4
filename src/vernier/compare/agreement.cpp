#include "vernier/compare/agreement.h"

#include <cmath>
#include <numeric>

#include "vernier/base/threads.h"
#include "vernier/compare/element_block.h"

namespace vernier {

namespace {

bool has_nan(const std::vector<double>& row) {
  return std::any_of(row.begin(), row.end(), [](double value) { return std::isnan(value); });
}

int64_t shared_places(std::vector<double> reference, const std::vector<double>& actual, int64_t k) {
  std::vector<size_t> order(actual.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](size_t a, size_t b) {
    return actual[a] > actual[b] || (actual[a] == actual[b] && a < b);
  });
  const std::vector<double> values = reference;
  std::nth_element(reference.begin(), reference.begin() + (k - 1), reference.end(), std::greater<>());
  const double kth_largest = reference[static_cast<size_t>(k - 1)];
  return std::count_if(order.begin(), order.begin() + k,
                       [&](size_t place) { return values[place] >= kth_largest; });
}

Agreement of_row(const std::vector<double>& reference, const std::vector<double>& actual, int64_t k) {
  const bool ranks = k >= 1 && k < static_cast<int64_t>(reference.size());
  Agreement result{.rows = 1, .top_k_places = ranks ? k : 0};
  if (has_nan(reference) || has_nan(actual)) return result;
  const auto decided = std::max_element(actual.begin(), actual.end()) - actual.begin();
  const double largest = *std::max_element(reference.begin(), reference.end());
  result.same_argmax = reference[static_cast<size_t>(decided)] == largest ? 1 : 0;
  if (ranks) result.top_k_shared = shared_places(reference, actual, k);
  return result;
}

}  // namespace

void Agreement::merge(const Agreement& other) {
  rows += other.rows;
  same_argmax += other.same_argmax;
  top_k_places += other.top_k_places;
  top_k_shared += other.top_k_shared;
}

bool looks_like_logits(ElementType type, const Dims& dims) {
  return is_float(type) && !dims.empty() && dims.back() >= 2 && dims.back() <= 65536;
}

Agreement count_agreement(const Tensor& reference, const Tensor& actual, int64_t k) {
  const int64_t length = reference.dims().back(), rows = reference.size() / length;
  const int64_t rows_per_part = std::max<int64_t>(1, (1 << 16) / length);
  std::vector<Agreement> parts(static_cast<size_t>((rows + rows_per_part - 1) / rows_per_part));
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    std::vector<double> expected(static_cast<size_t>(length)), got(expected.size());
    for (int64_t row = begin * rows_per_part; row < std::min(rows, end * rows_per_part); ++row) {
      read_reals(reference, row * length, expected);
      read_reals(actual, row * length, got);
      parts[static_cast<size_t>(row / rows_per_part)].merge(of_row(expected, got, k));
    }
  });
  Agreement total;
  for (const Agreement& part : parts) total.merge(part);
  return total;
}

}  // namespace vernier
