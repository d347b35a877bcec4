// Blocks of products on the processor's tiles of bfloat16 (AMX): 32 rows by 32 columns, summed in float.
//
// Numbers of bfloat16 are one piece. Floats come as pieces: x = x0 + x1 (+ x2), each the nearest bfloat16 of
// what the pieces before it leave. Of two pieces the products x0*w0 + x0*w1 + x1*w0 keep 16 to 17 bits of
// each factor; of three, all products down to 2^-24 are taken, and the sums are as good as sums of floats. An
// infinite factor may give NaN.
#pragma once

#include <cstdint>

namespace vernier::cpu {

inline constexpr int64_t kTileRows = 16;  // and columns
inline constexpr int64_t kBlockRows = 32, kBlockColumns = 32;
inline constexpr int64_t kChunk = 32;      // of the depth: what one multiplication of tiles sums
inline constexpr int64_t kTileSize = 512;  // elements

// How numbers lie in rows of tiles, each of 64 bytes.
struct TileFormat {
  int pieces;         // of each number
  int64_t row_depth;  // numbers of a row
  int64_t source;     // bytes of a number where it comes from
};
inline constexpr TileFormat kBFloat16Tiles{1, 32, 2}, kTwoPieceTiles{2, 32, 4}, kThreePieceTiles{3, 32, 4};

// Whether this process may use tiles of bfloat16.
bool has_bf16_tiles();

// The tiles of this thread are set up for blocks while it lives.
class TileScope {
 public:
  TileScope();
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

struct BlockProduct {
  // Of a step, a chunk of 32 of the depth, rows `row_bytes` apart begin at rows + steps[i] with the 32
  // elements of the first piece; those of the next piece lie `piece` elements farther.
  const uint16_t* rows;
  int64_t row_bytes;
  const int64_t* steps;
  int64_t step_count, piece;
  const uint16_t* weights;  // of these columns (PackedTiles)
  const float* start;       // of each column, what its sums begin with
  float* sums;              // [32, 32]
  // Floats between rows of both; 0: all rows begin with the same.
  int64_t start_stride = 0, sums_stride = kBlockColumns;
};

// How much of a block is asked for.
struct BlockShape {
  int pieces = 2;                            // 1 to 3
  bool all_rows = true, all_columns = true;  // false: 16 are enough
};

void multiply_block(const BlockShape& shape, const BlockProduct& product);

}  // namespace vernier::cpu
