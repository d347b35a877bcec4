// Constant weights, floats, bfloat16 or int8, in terms, tile by tile in the order in which blocks
// are multiplied: for each 32 columns, for each step, for each term, two tiles of 16 pairs (int8: fours) of
// the depth by 16 columns.
#pragma once

#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/exec/backend.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

// Where the weight of a column, a channel and a tap lies, in elements. The steps are the taps of the
// first chunk of channels (one row of a tile each), then those of the next: what neighbouring taps read of an
// image is the same but for a few rows, and stays in the first cache.
struct WeightOrder {
  int64_t columns = 0, channels = 0, taps = 1;
  int64_t column_stride = 0, channel_stride = 0, tap_stride = 0;

  int64_t column_blocks() const;
  int64_t chunks(const TileFormat& format) const;  // of a tap
  int64_t steps(const TileFormat& format) const { return taps * chunks(format); }
  int64_t block_size(const TileFormat& format) const;  // halves of 32 columns
};

// Shared with all kernels of the engine that want the same (request.packed).
std::shared_ptr<const PackedForm> pack_tiles(const KernelRequest& request, const Tensor& weights,
                                             const WeightOrder& order, const TileFormat& format);

// Those of [columns, channels, taps…], and of a matrix [channels, columns], or transposed.
WeightOrder order_of(const ops::Convolution& convolution);
WeightOrder order_of_matrix(int64_t channels, int64_t columns, bool transposed);

// Of int8, for each column.
std::vector<int64_t> column_sums(const Tensor& weights, const WeightOrder& order);

}  // namespace vernier::cpu
