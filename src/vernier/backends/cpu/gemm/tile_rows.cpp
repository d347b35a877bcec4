#include "vernier/backends/cpu/gemm/tile_rows.h"

#include <algorithm>
#include <array>

#include "vernier/backends/cpu/gemm/packed_tiles.h"

namespace vernier::cpu {

namespace {

using Sums = std::array<float, kBlockRows * kBlockColumns>;

// Rows of sums, plus what they begin with, to where they belong.
class PutSums : public RowWork {
 public:
  PutSums() : RowWork(0) {}
  PutSums(const float* sums, const float* initial, float* y, int64_t y_stride, int64_t rows, int64_t columns)
      : RowWork(rows), sums_(sums), initial_(initial), y_(y), y_stride_(y_stride), columns_(columns) {}

  void run(int64_t first, int64_t count) override {
    for (int64_t r = first; r < first + count; ++r) {
      for (int64_t i = 0; i < columns_; ++i)
        y_[r * y_stride_ + i] = sums_[r * kBlockColumns + i] + initial_[i];
    }
  }

 private:
  const float *sums_ = nullptr, *initial_ = nullptr;
  float* y_ = nullptr;
  int64_t y_stride_ = 0, columns_ = 0;
};

}  // namespace

TileRows::TileRows(const KernelRequest& request, const Tensor& weights, int64_t first, int64_t columns,
                   int64_t depth, int64_t rows, const TileFormat& format)
    : order_{columns, depth, 1, depth, 1, 0},
      format_(format),
      capacity_((rows + kBlockRows - 1) / kBlockRows * kBlockRows) {
  for (int64_t chunk = 0; chunk < order_.chunks(format_); ++chunk)
    steps_.push_back(chunk * capacity_ * kChunk);
  // Parts of a constant are packed for this kernel alone: engine files keep what is packed of whole ones.
  const KernelRequest own{request.node, {}, {}};
  const auto part =
      Tensor::borrow(ElementType::kFloat, {columns, depth}, static_cast<const float*>(weights.raw()) + first,
                     std::make_shared<Tensor>(weights));
  weights_ = pack_tiles(own, part, order_, format);
}

void TileRows::multiply(const float* x, int64_t rows, const float* initial, float* y, int64_t y_stride,
                        uint16_t* area) const {
  static constexpr std::array<float, kBlockColumns> kZeros{};
  const int64_t chunk = capacity_ * kChunk, term = order_.chunks(format_) * chunk;
  split_pixels({x, order_.channels, rows, order_.channels, area, chunk, term, format_});
  const auto* weights = reinterpret_cast<const uint16_t*>(weights_->content().data());
  // Each block is put where it belongs while tiles multiply the next one.
  alignas(64) std::array<Sums, 2> sums;
  PutSums before;
  size_t turn = 0;
  for (int64_t block = 0; block < order_.column_blocks(); ++block) {
    const int64_t column = block * kBlockColumns;
    for (int64_t row = 0; row < rows; row += kBlockRows, turn = 1 - turn) {
      const int64_t count = std::min(kBlockRows, rows - row);
      multiply_block({format_.terms, count > kTileRows, order_.columns - column > kTileRows},
                     {area + row * kChunk, kChunk * static_cast<int64_t>(sizeof(uint16_t)), steps_.data(),
                      static_cast<int64_t>(steps_.size()), term, weights + block * order_.block_size(format_),
                      sums[turn].data()},
                     before);
      before = PutSums(sums[turn].data(), initial == nullptr ? kZeros.data() : initial + column,
                       y + row * y_stride + column, y_stride, count,
                       std::min(kBlockColumns, order_.columns - column));
    }
  }
  before.run(0, before.rows());
}

}  // namespace vernier::cpu
