#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_instructions.h"

namespace vernier::cpu {

namespace {

// Sums of 16 columns are by turns in tiles 0 and 1, or 2 and 3; rows in 4 and 5, weights in 6 or 7.
// The numbers of tiles are part of the instructions.
#define VERNIER_BY_TURNS(first, second) \
  if constexpr (kTurn == 0) {           \
    first;                              \
  } else {                              \
    second;                             \
  }

template <int kTurn, bool kAllRows>
VERNIER_TILES inline void begin(const ColumnsProduct& p, const float* sums) {
  const int64_t stride = p.sums_stride * static_cast<int64_t>(sizeof(float));
  if (p.adds) {
    VERNIER_BY_TURNS(_tile_loadd(0, sums, stride), _tile_loadd(2, sums, stride))
    if constexpr (kAllRows) {
      const float* below = sums + kTileRows * p.sums_stride;
      VERNIER_BY_TURNS(_tile_loadd(1, below, stride), _tile_loadd(3, below, stride))
    }
    return;
  }
  VERNIER_BY_TURNS(_tile_zero(0), _tile_zero(2))
  VERNIER_BY_TURNS(_tile_zero(1), _tile_zero(3))
}

template <int kTurn, bool kAllRows>
VERNIER_TILES inline void add_steps(const ColumnsProduct& p, const uint16_t* weights) {
  for (int64_t i = 0; i < p.step_count; ++i, weights += 2 * kTileSize) {
    const uint16_t* rows = p.rows + p.steps[i];
    _tile_loadd(4, rows, p.row_bytes);
    VERNIER_BY_TURNS(_tile_loadd(6, weights, 64), _tile_loadd(7, weights, 64))
    VERNIER_BY_TURNS(_tile_dpbf16ps(0, 4, 6), _tile_dpbf16ps(2, 4, 7))
    if constexpr (kAllRows) {
      _tile_loadd(5, reinterpret_cast<const std::byte*>(rows) + kTileRows * p.row_bytes, p.row_bytes);
      VERNIER_BY_TURNS(_tile_dpbf16ps(1, 5, 6), _tile_dpbf16ps(3, 5, 7))
    }
  }
}

template <int kTurn, bool kAllRows>
VERNIER_TILES inline void store(const ColumnsProduct& p, float* sums) {
  const int64_t stride = p.sums_stride * static_cast<int64_t>(sizeof(float));
  VERNIER_BY_TURNS(_tile_stored(0, sums, stride), _tile_stored(2, sums, stride))
  if constexpr (kAllRows) {
    float* below = sums + kTileRows * p.sums_stride;
    VERNIER_BY_TURNS(_tile_stored(1, below, stride), _tile_stored(3, below, stride))
  }
}

template <bool kAllRows>
VERNIER_TILES void multiply(const ColumnsProduct& p) {
  const int64_t turns = (p.columns + kTileRows - 1) / kTileRows;
  float* sums = p.sums;
  for (int64_t turn = 0; turn < turns; turn += 2, sums += kBlockColumns) {
    const uint16_t* weights = p.weights + turn / 2 * p.block;
    begin<0, kAllRows>(p, sums);
    add_steps<0, kAllRows>(p, weights);
    if (turn > 0) store<1, kAllRows>(p, sums - kTileRows);
    if (turn + 1 < turns) {
      begin<1, kAllRows>(p, sums + kTileRows);
      add_steps<1, kAllRows>(p, weights + kTileSize);
    }
    store<0, kAllRows>(p, sums);
  }
  if (turns % 2 == 0) store<1, kAllRows>(p, sums - kTileRows);
}

}  // namespace

void multiply_columns(const ColumnsProduct& product, bool all_rows) {
  all_rows ? multiply<true>(product) : multiply<false>(product);
}

}  // namespace vernier::cpu
