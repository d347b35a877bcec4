// How attention multiplies blocks of rows of bfloat16: on tiles, or in registers of vectors.
#pragma once

#include <vector>

#include "vernier/backends/cpu/gemm/packed_tiles.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"

namespace vernier::cpu {

// Rows in chunks of 32 numbers: chunk c begins at first + c * chunk, its next term `term` elements farther.
struct PieceRows {
  const uint16_t* first;
  int64_t stride, chunk, term;
};

// Sums of `count` rows, up to 32; the weights of the next 32 columns lie `block` elements farther.
struct PieceProduct {
  PieceRows rows;
  int64_t count, chunks;
  const uint16_t* weights;
  int64_t block, columns;
  float* sums;
  int64_t sums_stride;  // between rows; there is room for whole blocks
  bool adds;            // to what the sums hold
};

class TileBlocks {
 public:
  using Scope = TileScope;
  static constexpr int64_t kLeastWork = 1 << 20;
  static constexpr PairPlaces kPlaces = kTileByTile;

  TileBlocks(int terms, int64_t most_chunks) : terms_(terms) {
    for (int64_t chunk = 0; chunk < most_chunks; ++chunk) {
      direct_steps_.push_back(chunk * kChunk);
      steps_.push_back(chunk * 2 * kTileSize);
    }
  }

  // Numbers of bfloat16 are one term.
  void multiply(const PieceProduct& p) const {
    const int64_t row_bytes = p.rows.stride * static_cast<int64_t>(sizeof(uint16_t));
    const int64_t* steps = (p.rows.chunk == kChunk ? direct_steps_ : steps_).data();
    const bool all_rows = p.count > kTileRows;
    if (terms_ == 1)
      return multiply_columns({p.rows.first, row_bytes, steps, p.chunks, p.weights, p.block, p.columns,
                               p.sums, p.sums_stride, p.adds},
                              all_rows);
    for (int64_t column = 0; column < p.columns; column += kBlockColumns)
      multiply_block({terms_, all_rows, p.columns - column > kTileRows},
                     {p.rows.first, row_bytes, steps, p.chunks, p.rows.term,
                      p.weights + column / kBlockColumns * p.block, p.sums + column, p.sums_stride, p.adds});
  }

 private:
  int terms_;
  std::vector<int64_t> direct_steps_, steps_;  // of rows where they lie; of those in chunks of 32 rows
};

// Multiplies blocks of operands that are one term each.
class VectorBlocks {
 public:
  struct Scope {};
  static constexpr int64_t kLeastWork = 1 << 18;
  static constexpr PairPlaces kPlaces = kSideBySide;

  VectorBlocks(int, int64_t) {}

  void multiply(const PieceProduct& p) const {
    constexpr auto kHalf = static_cast<int64_t>(sizeof(uint16_t));
    for (int64_t column = 0; column < p.columns; column += kVectorColumns)
      multiply_vectors(
          ElementType::kBFloat16,
          {reinterpret_cast<const std::byte*>(p.rows.first), p.rows.stride * kHalf, p.count,
           kChunk * kHalf / kVnniGroupBytes,
           reinterpret_cast<const std::byte*>(p.weights + column / kVectorColumns * p.block), p.sums + column,
           nullptr, true, p.chunks, p.rows.chunk * kHalf, p.sums_stride, p.adds});
  }
};

}  // namespace vernier::cpu
