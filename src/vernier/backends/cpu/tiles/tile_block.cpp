#include "vernier/backends/cpu/tiles/tile_block.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <dnnl.hpp>

#define VERNIER_TILES __attribute__((target("amx-tile,amx-bf16,amx-int8")))

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

// The numbers of tiles are part of the instructions.
#define VERNIER_ADD_PRODUCTS(add)                        \
  {                                                      \
    add(0, 4, 6);                                        \
    if constexpr (kAllColumns) add(1, 4, 7);             \
    if constexpr (kAllRows) add(2, 5, 6);                \
    if constexpr (kAllRows && kAllColumns) add(3, 5, 7); \
  }

template <TileNumbers kNumbers, bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void add_products() {
  if constexpr (kNumbers == TileNumbers::kBFloat16) VERNIER_ADD_PRODUCTS(_tile_dpbf16ps)
  if constexpr (kNumbers == TileNumbers::kUnsignedBytes) VERNIER_ADD_PRODUCTS(_tile_dpbusd)
  if constexpr (kNumbers == TileNumbers::kSignedBytes) VERNIER_ADD_PRODUCTS(_tile_dpbssd)
}

// Where the sums of the four tiles lie.
struct SumsPlaces {
  std::byte *first, *right, *below, *last;
  int64_t stride;

  explicit SumsPlaces(const BlockProduct& p)
      : first(static_cast<std::byte*>(p.sums)), stride(p.sums_stride * static_cast<int64_t>(sizeof(float))) {
    right = first + kRowBytes;
    below = first + kTileRows * stride;
    last = below + kRowBytes;
  }
};

template <bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void begin(const BlockProduct& p) {
  if (!p.adds) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  const SumsPlaces sums(p);
  _tile_loadd(0, sums.first, sums.stride);
  if constexpr (kAllColumns) _tile_loadd(1, sums.right, sums.stride);
  if constexpr (kAllRows) _tile_loadd(2, sums.below, sums.stride);
  if constexpr (kAllRows && kAllColumns) _tile_loadd(3, sums.last, sums.stride);
}

template <bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void store(const BlockProduct& p) {
  const SumsPlaces sums(p);
  _tile_stored(0, sums.first, sums.stride);
  if constexpr (kAllColumns) _tile_stored(1, sums.right, sums.stride);
  if constexpr (kAllRows) _tile_stored(2, sums.below, sums.stride);
  if constexpr (kAllRows && kAllColumns) _tile_stored(3, sums.last, sums.stride);
}

// The products of one step, in an order in which most loaded tiles serve twice, small products first.
template <TileNumbers kNumbers, int kPieces, bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void add_step(const BlockProduct& p, const uint16_t* rows, const uint16_t* weights) {
  constexpr int64_t kPiece = 2 * kTileSize;  // of the weights
  const auto multiply = add_products<kNumbers, kAllRows, kAllColumns>;
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

template <TileNumbers kNumbers, int kPieces, bool kAllRows, bool kAllColumns>
VERNIER_TILES void multiply(const BlockProduct& p, RowWork& meanwhile) {
  // Worth a call: bytes end faster than floats.
  constexpr int64_t kFewestRows = kNumbers == TileNumbers::kBFloat16 ? 4 : kBlockRows;
  const int64_t rows = meanwhile.rows(),
                share = std::max(kFewestRows, (rows + p.step_count - 1) / p.step_count);
  const int64_t lines = (p.later_lines + p.step_count - 1) / p.step_count;  // with each step
  begin<kAllRows, kAllColumns>(p);
  const uint16_t* weights = p.weights;
  for (int64_t i = 0, row = 0; i < p.step_count; ++i, row += share, weights += kPieces * 2 * kTileSize) {
    add_step<kNumbers, kPieces, kAllRows, kAllColumns>(p, p.rows + p.steps[i], weights);
    for (int64_t line = i * lines; line < std::min((i + 1) * lines, p.later_lines); ++line)
      _mm_prefetch(p.later + line * kChunk, _MM_HINT_T1);
    if (row < rows) meanwhile.run(row, std::min(share, rows - row));
  }
  store<kAllRows, kAllColumns>(p);
}

template <TileNumbers kNumbers, int kPieces>
void multiply_pieces(const BlockShape& shape, const BlockProduct& product, RowWork& meanwhile) {
  const auto of_rows = shape.all_columns ? (shape.all_rows ? multiply<kNumbers, kPieces, true, true>
                                                           : multiply<kNumbers, kPieces, false, true>)
                                         : (shape.all_rows ? multiply<kNumbers, kPieces, true, false>
                                                           : multiply<kNumbers, kPieces, false, false>);
  of_rows(product, meanwhile);
}

VERNIER_TILES void configure() {
  _tile_loadconfig(&kConfiguration);
}

VERNIER_TILES void release() {
  _tile_release();
}

class NoWork : public RowWork {
 public:
  NoWork() : RowWork(0) {}
  void run(int64_t, int64_t) override {}
};

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

void multiply_block(const BlockShape& shape, const BlockProduct& product, RowWork& meanwhile) {
  using enum TileNumbers;
  if (shape.numbers == kUnsignedBytes) return multiply_pieces<kUnsignedBytes, 1>(shape, product, meanwhile);
  if (shape.numbers == kSignedBytes) return multiply_pieces<kSignedBytes, 1>(shape, product, meanwhile);
  switch (shape.pieces) {
    case 1: return multiply_pieces<kBFloat16, 1>(shape, product, meanwhile);
    case 2: return multiply_pieces<kBFloat16, 2>(shape, product, meanwhile);
    default: return multiply_pieces<kBFloat16, 3>(shape, product, meanwhile);
  }
}

void multiply_block(const BlockShape& shape, const BlockProduct& product) {
  NoWork none;
  multiply_block(shape, product, none);
}

}  // namespace vernier::cpu
