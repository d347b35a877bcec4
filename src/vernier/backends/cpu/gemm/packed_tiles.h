// Constant weights, floats, bfloat16 or int8, in terms, tile by tile in the order in which blocks
// are multiplied: for each 32 columns, for each step, for each term, two tiles of 16 pairs (int8: fours) of
// the depth by 16 columns.
#pragma once

#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/exec/backend.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

// Packing of numbers as rows of tiles (tile_block.h): bfloat16 as it is, a float as several bfloat16 terms
// whose sum it is, or rounded to one term.
struct SplitPixels {
  const void* from;
  int64_t stride, count, channels;  // pixels are `stride` elements apart
  // Chunk c of pixel p lies at to + c * chunk + p * 32, filled up with zeros; its next term `term` elements
  // farther.
  uint16_t* to;
  int64_t chunk, term;
  TileFormat format;
};

// The sum of the terms of x differs from x by at most 2^-9 (one term), 2^-17 (two) or 2^-25 (three) of x. A
// finite x that would round to infinity is truncated instead; an infinity or NaN is the first term alone.
void split_pixels(const SplitPixels& split);

// Where the weight of a column, a channel and a tap lies, in elements. The steps are the taps of the
// first chunk of channels (one row of a tile each), then those of the next: what neighbouring taps read of an
// image is the same but for a few rows, and stays in the first cache.
struct WeightOrder {
  int64_t columns = 0, channels = 0, taps = 1;
  int64_t column_stride = 0, channel_stride = 0, tap_stride = 0;

  int64_t column_blocks() const;
  int64_t chunks(const TileFormat& format) const;  // of a tap
  int64_t steps(const TileFormat& format) const { return taps * chunks(format); }
  int64_t block_size(const TileFormat& format) const;  // 16-bit elements of 32 columns
};

// Shared with all kernels of the engine that want the same (request.packed).
std::shared_ptr<const PackedForm> pack_tiles(const KernelRequest& request, const Tensor& weights,
                                             const WeightOrder& order, const TileFormat& format);

// Gives the order of weights [columns, channels, taps…], and of a matrix [channels, columns], or of a
// transposed one.
WeightOrder order_of(const ops::Convolution& convolution);
WeightOrder order_of_matrix(int64_t channels, int64_t columns, bool transposed);

// Adds up the int8 weights of each column.
std::vector<int64_t> column_sums(const Tensor& weights, const WeightOrder& order);

// Rows that are found when a kernel runs, as the weights of blocks (tile_block.h, vector_block.h): a term of
// 32 by 32 numbers of bfloat16 becomes two tiles. Rows are `stride` elements apart.

// Where the pairs of depth of 16 columns lie, in elements of 16 bits: from one to the next, and those of the
// second 16.
struct PairPlaces {
  int64_t next, second;
};
// As tiles want them, and as vectors do.
inline constexpr PairPlaces kTileByTile{kChunk, kTileSize}, kSideBySide{2 * kChunk, kChunk};

// Each row is a column of the weights, its 32 elements the depth.
void rows_to_columns(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to);
// The rows are the depth, their elements the columns.
void rows_to_depth(const uint16_t* rows, int64_t stride, const PairPlaces& places, uint16_t* to);

}  // namespace vernier::cpu
