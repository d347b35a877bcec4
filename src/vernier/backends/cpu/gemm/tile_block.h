// Matrix products on AMX tiles in blocks of 32 rows by 32 columns: of bfloat16 accumulated in float, or of
// int8 accumulated in int32.
//
// A bfloat16 is one term. A float is split into bfloat16 terms, x = x0 + x1 (+ x2), where each term is the
// nearest bfloat16 to what the terms before it leave. With two terms the products x0*w0 + x0*w1 + x1*w0 are
// summed, which keeps 16 to 17 bits of each factor; with three, all products down to 2^-24, which is as exact
// as multiplying floats. An infinite factor may give NaN.
#pragma once

#include <cstdint>

namespace vernier::cpu {

inline constexpr int64_t kTileRows = 16;  // and columns
inline constexpr int64_t kBlockRows = 32, kBlockColumns = 32;
inline constexpr int64_t kChunk =
    32;  // 16-bit elements of a row of a tile, the unit of places in tiles: bfloat16
inline constexpr int64_t kTileSize = 512;  // 16-bit elements

// Names the type of the rows; the weights are bfloat16, or int8.
enum class TileNumbers : uint8_t { kBFloat16, kUint8, kInt8 };

// How numbers lie in rows of tiles, each of 64 bytes.
struct TileFormat {
  int terms;          // of each number
  int64_t row_depth;  // numbers of a row
  int64_t source;     // bytes of a number where it comes from
  TileNumbers numbers = TileNumbers::kBFloat16;
};
inline constexpr TileFormat kBFloat16Tiles{1, 32, 2}, kTwoTermTiles{2, 32, 4}, kThreeTermTiles{3, 32, 4};
inline constexpr TileFormat kUnsignedTiles{1, 64, 1, TileNumbers::kUint8},
    kSignedTiles{1, 64, 1, TileNumbers::kInt8};
// An int32 accumulates so many int8 products, zero points subtracted, without overflow:
// 255 * 128 * 65536 < 2^31.
inline constexpr int64_t kMostBytes = 65536;

// Whether this process may use tiles; processors that have those of bfloat16 have those of int8.
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
  // A step accumulates the elements of one row of a tile. Its rows, `row_bytes` apart, begin at rows +
  // steps[i] with the first term; the next term lies `term` elements farther.
  const uint16_t* rows;
  int64_t row_bytes;
  const int64_t* steps;
  int64_t step_count, term;
  const uint16_t* weights;              // of these columns (PackedTiles)
  void* sums;                           // [32, 32], floats or int32; null: they stay in the tiles
  int64_t sums_stride = kBlockColumns;  // of them, between rows
  bool adds = false;                    // to what the sums hold
  const void* initial = nullptr;        // or to these, one for each column
  // Where sums that stayed in the tiles come to, [32, 32]: tile by tile, each when this block wants it, for a
  // processor that is to store several waits for all of them.
  void* before = nullptr;
  // This will be read later, and is brought into the second cache meanwhile.
  const uint16_t* later = nullptr;
  int64_t later_lines = 0;  // of 64 bytes
};

// How much of a block is asked for.
struct BlockShape {
  int terms = 2;                             // 1 to 3
  bool all_rows = true, all_columns = true;  // false: 16 are enough
  TileNumbers numbers = TileNumbers::kBFloat16;
};

// Works on rows of another block while tiles multiply: otherwise the processor does one after the other, for
// its tiles wait for what was stored.
class RowWork {
 public:
  explicit RowWork(int64_t rows) : rows_(rows) {}
  virtual ~RowWork() = default;
  int64_t rows() const { return rows_; }
  virtual void run(int64_t first, int64_t count) = 0;

 private:
  int64_t rows_;
};

// Does all of `meanwhile`, which must not be of this product, after `before` is stored.
void multiply_block(const BlockShape& shape, const BlockProduct& product, RowWork& meanwhile);
void multiply_block(const BlockShape& shape, const BlockProduct& product);
// Sums that stayed in the tiles, [32, 32].
void store_block(void* sums);

// Products on tiles (tile_block.h) of rows of bfloat16 by so few steps, or by so few columns, that what
// begins and ends a block counts: the sums of 16 columns are stored while those of the next are multiplied.
struct ColumnsProduct {
  // As BlockProduct has them, of up to 32 rows.
  const uint16_t* rows;
  int64_t row_bytes;
  const int64_t* steps;
  int64_t step_count;
  const uint16_t* weights;  // those of the next 32 columns lie `block` elements farther
  int64_t block, columns;
  float* sums;
  int64_t sums_stride;  // between rows; there is room for whole tiles
  bool adds;            // to what the sums hold
};

// All 32 rows, or 16. The thread has a TileScope.
void multiply_columns(const ColumnsProduct& product, bool all_rows);

}  // namespace vernier::cpu
