#include "vernier/calibrate/split_samples.h"

#include "vernier/base/error.h"

namespace vernier {

namespace {

int64_t rows_of(const Sample& sample) {
  std::optional<int64_t> rows;
  for (const auto& [name, datum] : sample.inputs) {
    if (!datum.is_tensor() || datum.tensor.rank() == 0)
      throw bad_input("the sample cannot be split into rows: input '{}' has no axis", name)
          .in_file(sample.origin)
          .advise("leave out --rows");
    const int64_t here = datum.tensor.dims()[0];
    if (rows && *rows != here)
      throw bad_input("the sample cannot be split into rows: input '{}' has {} of them, and another has {}",
                      name, here, *rows)
          .in_file(sample.origin)
          .advise("leave out --rows");
    rows = here;
  }
  return rows.value_or(0);
}

// The memory is that of `whole`.
Tensor piece_of(const Tensor& whole, int64_t first, int64_t rows) {
  Dims dims = whole.dims();
  const auto row = whole.byte_size() / static_cast<size_t>(dims[0]);
  dims[0] = rows;
  const auto owner = std::make_shared<Tensor>(whole);
  const auto* bytes = static_cast<const std::byte*>(owner->raw()) + static_cast<size_t>(first) * row;
  return Tensor::borrow(whole.type(), std::move(dims), bytes, owner);
}

}  // namespace

std::optional<Sample> SplitSamples::next() {
  while (first_ == all_) {
    sample_ = data_->next();
    if (!sample_) return std::nullopt;
    first_ = 0;
    all_ = rows_of(*sample_);
  }
  const int64_t rows = std::min(rows_, all_ - first_);
  Sample piece;
  piece.origin = all_ > rows_ ? fmt::format("{}, rows {} to {}", sample_->origin, first_, first_ + rows - 1)
                              : sample_->origin;
  for (const auto& [name, datum] : sample_->inputs) piece.inputs[name] = piece_of(datum.tensor, first_, rows);
  first_ += rows;
  return piece;
}

}  // namespace vernier
