// Reads what an output of scores, or of classes, decides for each row.
#pragma once

#include "vernier/tensor/tensor.h"

namespace vernier {

class DecidedRows {
 public:
  // Scores along the last dimension, one score for each row, or integers, which are classes. Throws
  // bad_input for outputs of other types.
  DecidedRows(const Tensor& output, double threshold);

  static size_t count(const Tensor& output);
  size_t rows() const { return rows_; }
  // How many classes there are; 0 where the output holds classes itself.
  size_t classes() const { return is_class_ ? 0 : width_ == 1 ? 2 : width_; }
  // The class of the largest score, the first of equal ones; kNone where one is no number.
  int64_t decided(size_t row) const;
  // By how much the class is ahead of the `k`-th largest of the others; negative where it is behind, or equal
  // and later. NaN where nothing is to be compared.
  double margin(size_t row, int64_t wanted, size_t k) const;
  // Whether the class is among the first k.
  bool holds(size_t row, int64_t wanted, size_t k) const;
  // The score of a class, or of yes against no where there are two.
  double score(size_t row, size_t of) const { return values_[row * width_ + of]; }
  size_t width() const { return width_; }

  static constexpr int64_t kNone = -1;

 private:
  bool has_nan(size_t row) const;

  std::vector<double> values_;
  size_t rows_, width_;
  bool is_class_;
  double threshold_;
};

}  // namespace vernier
