// Constant weights, floats or bfloat16, in pieces, tile by tile in the order in which blocks are multiplied:
// for each 32 columns, for each step, for each piece, two tiles of 16 pairs of the depth by 16 columns.
#pragma once

#include "vernier/backends/cpu/tiles/tile_block.h"
#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

// Where the weight of a column, a channel and a tap lies, in elements. The steps are the chunks of 32
// channels of the first tap, then those of the next.
struct WeightOrder {
  int64_t columns = 0, channels = 0, taps = 1;
  int64_t column_stride = 0, channel_stride = 0, tap_stride = 0;

  int64_t column_blocks() const;
  int64_t chunks() const;  // of a tap
  int64_t steps() const { return taps * chunks(); }
  int64_t block_size(const TileFormat& format) const;  // elements of 32 columns
};

// Shared with all kernels of the engine that want the same (request.packed).
std::shared_ptr<const PackedForm> pack_tiles(const KernelRequest& request, const Tensor& weights,
                                             const WeightOrder& order, const TileFormat& format);

}  // namespace vernier::cpu
