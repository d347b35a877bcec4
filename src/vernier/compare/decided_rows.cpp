#include "vernier/compare/decided_rows.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "vernier/base/error.h"

namespace vernier {

DecidedRows::DecidedRows(const Tensor& output, double threshold)
    : rows_(count(output)), is_class_(!is_float(output.type())), threshold_(threshold) {
  if (is_class_ && !is_integer(output.type()) && output.type() != ElementType::kBool)
    throw bad_input("an output of {} decides nothing", element_type_short_name(output.type()));
  values_ = output.to_doubles();
  width_ = rows_ == 0 ? 1 : values_.size() / rows_;
}

// One score for each row stands in a dimension of 1, or in no dimension of its own.
size_t DecidedRows::count(const Tensor& output) {
  const auto size = static_cast<size_t>(output.size());
  if (!is_float(output.type()) || output.rank() < 2)
    return output.rank() == 1 && is_float(output.type()) && size > 1 ? 1 : size;
  return size / static_cast<size_t>(std::max<int64_t>(1, output.dims().back()));
}

bool DecidedRows::has_nan(size_t row) const {
  const auto begin = values_.begin() + static_cast<ptrdiff_t>(row * width_);
  return std::any_of(begin, begin + static_cast<ptrdiff_t>(width_),
                     [](double value) { return std::isnan(value); });
}

int64_t DecidedRows::decided(size_t row) const {
  if (has_nan(row)) return kNone;
  if (is_class_) return static_cast<int64_t>(values_[row]);
  if (width_ == 1) return values_[row] >= threshold_ ? 1 : 0;
  const auto begin = values_.begin() + static_cast<ptrdiff_t>(row * width_);
  return std::max_element(begin, begin + static_cast<ptrdiff_t>(width_)) - begin;
}

double DecidedRows::margin(size_t row, int64_t wanted, size_t k) const {
  if (is_class_ || has_nan(row)) return std::nan("");
  if (width_ == 1) return wanted == 1 ? values_[row] - threshold_ : threshold_ - values_[row];
  if (width_ <= k) return std::nan("");
  std::vector<double> others;
  for (size_t c = 0; c < width_; ++c) {
    if (static_cast<int64_t>(c) != wanted) others.push_back(values_[row * width_ + c]);
  }
  std::nth_element(others.begin(), others.begin() + static_cast<ptrdiff_t>(k - 1), others.end(),
                   std::greater<>());
  return values_[row * width_ + static_cast<size_t>(wanted)] - others[k - 1];
}

bool DecidedRows::holds(size_t row, int64_t wanted, size_t k) const {
  if (is_class_ || width_ == 1) return decided(row) == wanted;
  if (has_nan(row)) return false;
  const double score = values_[row * width_ + static_cast<size_t>(wanted)];
  size_t before = 0;  // larger ones, and equal ones that come first
  for (size_t c = 0; c < width_; ++c) {
    const double other = values_[row * width_ + c];
    before += other > score || (other == score && c < static_cast<size_t>(wanted));
  }
  return before < k;
}

}  // namespace vernier
