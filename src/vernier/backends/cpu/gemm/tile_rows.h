// Products of rows by constant weights on tiles (tile_block.h), for kernels that multiply on the way.
#pragma once

#include "vernier/backends/cpu/gemm/packed_tiles.h"

namespace vernier::cpu {

class TileRows {
 public:
  // Weights [columns, depth] of a tensor of floats, from element `first` on; at most so many rows at a time.
  TileRows(const KernelRequest& request, const Tensor& weights, int64_t first, int64_t columns, int64_t depth,
           int64_t rows, const TileFormat& format);

  int64_t capacity() const { return capacity_; }  // rows
  // Gives the size of the area that multiply() works in.
  int64_t area() const { return order_.chunks(format_) * capacity_ * kChunk * format_.terms; }

  // y = x * weights + initial, of each column; null: 0. The thread has a TileScope. What a row comes to
  // depends on nothing else.
  void multiply(const float* x, int64_t rows, const float* initial, float* y, int64_t y_stride,
                uint16_t* area) const;

  bool is_prepared() const { return weights_->is_made(); }
  void prepare() const { weights_->content(); }

 private:
  WeightOrder order_;
  TileFormat format_;
  int64_t capacity_;
  std::vector<int64_t> steps_;
  std::shared_ptr<const PackedForm> weights_;
};

}  // namespace vernier::cpu
