#include "vernier/backends/cpu/tiles/tile_block.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dnnl.hpp>

#define VERNIER_TILES __attribute__((target("amx-tile,amx-bf16")))

namespace vernier::cpu {

namespace {

constexpr int64_t kRowBytes = 64;  // of a tile

struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {kRowBytes, kRowBytes, kRowBytes, kRowBytes,
                            kRowBytes, kRowBytes, kRowBytes, kRowBytes};
  uint8_t rows[16] = {kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows, kTileRows};
};
// In memory for good: g++ takes the instruction that reads it to read its first bytes only.
constexpr TileConfiguration kConfiguration;

// Sums are in tiles 0 to 3, rows in 4 and 5, weights in 6 and 7.
template <bool kAllRows>
VERNIER_TILES inline void load_rows(const uint16_t* from, int64_t row_bytes) {
  _tile_loadd(4, from, row_bytes);
  if constexpr (kAllRows)
    _tile_loadd(5, reinterpret_cast<const std::byte*>(from) + kTileRows * row_bytes, row_bytes);
}

template <bool kAllColumns>
VERNIER_TILES inline void load_weights(const uint16_t* from) {
  _tile_loadd(6, from, kRowBytes);
  if constexpr (kAllColumns) _tile_loadd(7, from + kTileSize, kRowBytes);
}

template <bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void add_products() {
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kAllColumns) _tile_dpbf16ps(1, 4, 7);
  if constexpr (kAllRows) _tile_dpbf16ps(2, 5, 6);
  if constexpr (kAllRows && kAllColumns) _tile_dpbf16ps(3, 5, 7);
}

template <bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void begin(const float* start, int64_t stride) {
  const float* below = start + kTileRows * stride;
  stride *= static_cast<int64_t>(sizeof(float));
  _tile_loadd(0, start, stride);
  if constexpr (kAllColumns) _tile_loadd(1, start + kTileRows, stride);
  if constexpr (kAllRows) _tile_loadd(2, below, stride);
  if constexpr (kAllRows && kAllColumns) _tile_loadd(3, below + kTileRows, stride);
}

template <bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void store(float* sums, int64_t stride) {
  float* below = sums + kTileRows * stride;
  stride *= static_cast<int64_t>(sizeof(float));
  _tile_stored(0, sums, stride);
  if constexpr (kAllColumns) _tile_stored(1, sums + kTileRows, stride);
  if constexpr (kAllRows) _tile_stored(2, below, stride);
  if constexpr (kAllRows && kAllColumns) _tile_stored(3, below + kTileRows, stride);
}

// The products of one step, in an order in which most loaded tiles serve twice, small products first.
template <int kPieces, bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void add_step(const BlockProduct& p, const uint16_t* rows, const uint16_t* weights) {
  constexpr int64_t kPiece = 2 * kTileSize;  // of the weights
  const auto multiply = add_products<kAllRows, kAllColumns>;
  const auto load = load_rows<kAllRows>;
  load_weights<kAllColumns>(weights);
  if constexpr (kPieces == 3) {
    load(rows + 2 * p.piece, p.row_bytes);
    multiply();
  }
  if constexpr (kPieces >= 2) {
    load(rows + p.piece, p.row_bytes);
    multiply();
  }
  load(rows, p.row_bytes);
  multiply();
  if constexpr (kPieces >= 2) {
    load_weights<kAllColumns>(weights + kPiece);
    multiply();
  }
  if constexpr (kPieces == 3) {
    load(rows + p.piece, p.row_bytes);
    multiply();
    load_weights<kAllColumns>(weights + 2 * kPiece);
    load(rows, p.row_bytes);
    multiply();
  }
}

template <int kPieces, bool kAllRows, bool kAllColumns>
VERNIER_TILES void multiply(const BlockProduct& p) {
  begin<kAllRows, kAllColumns>(p.start, p.start_stride);
  const uint16_t* weights = p.weights;
  for (int64_t i = 0; i < p.step_count; ++i, weights += kPieces * 2 * kTileSize)
    add_step<kPieces, kAllRows, kAllColumns>(p, p.rows + p.steps[i], weights);
  store<kAllRows, kAllColumns>(p.sums, p.sums_stride);
}

template <int kPieces>
void multiply_pieces(const BlockShape& shape, const BlockProduct& product) {
  if (shape.all_rows)
    shape.all_columns ? multiply<kPieces, true, true>(product) : multiply<kPieces, true, false>(product);
  else
    shape.all_columns ? multiply<kPieces, false, true>(product) : multiply<kPieces, false, false>(product);
}

VERNIER_TILES void configure() {
  _tile_loadconfig(&kConfiguration);
}

VERNIER_TILES void release() {
  _tile_release();
}

// Linux gives a process tiles only when it asks for them.
bool is_permitted() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_bf16_tiles() {
  static const bool has = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_amx && is_permitted();
  return has;
}

TileScope::TileScope() {
  configure();
}

TileScope::~TileScope() {
  release();
}

void multiply_block(const BlockShape& shape, const BlockProduct& product) {
  switch (shape.pieces) {
    case 1: return multiply_pieces<1>(shape, product);
    case 2: return multiply_pieces<2>(shape, product);
    default: return multiply_pieces<3>(shape, product);
  }
}

}  // namespace vernier::cpu
