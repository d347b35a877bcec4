#include "vernier/backends/cpu/gemm/tile_block.h"

#include <algorithm>

#include "vernier/backends/cpu/gemm/tile_instructions.h"
#include "vernier/backends/cpu/processor.h"

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

// Where the sums of the four tiles lie.
struct SumsPlaces {
  std::byte *first, *right = nullptr, *below = nullptr, *last = nullptr;
  int64_t stride;

  SumsPlaces(void* sums, int64_t sums_stride)
      : first(static_cast<std::byte*>(sums)), stride(sums_stride * static_cast<int64_t>(sizeof(float))) {
    if (first == nullptr) return;
    right = first + kRowBytes;
    below = first + kTileRows * stride;
    last = below + kRowBytes;
  }
};

// The numbers of tiles are part of the instructions.
#define VERNIER_BEGIN_TILE(tile, place, column, used)                                        \
  {                                                                                          \
    if (p.before != nullptr) _tile_stored(tile, before.place, before.stride);                \
    if constexpr (used) {                                                                    \
      if (p.adds)                                                                            \
        _tile_loadd(tile, sums.place, sums.stride);                                          \
      else if (p.initial != nullptr)                                                         \
        _tile_loadd(tile, static_cast<const std::byte*>(p.initial) + (column)*kRowBytes, 0); \
      else                                                                                   \
        _tile_zero(tile);                                                                    \
    }                                                                                        \
  }

#define VERNIER_ADD_TO_TILE(add, tile, rows, weights, place, used)          \
  {                                                                         \
    if constexpr (kFirst) VERNIER_BEGIN_TILE(tile, place, (tile) % 2, used) \
    if constexpr (used) add(tile, rows, weights);                           \
  }

#define VERNIER_ADD_PRODUCTS(add)                                      \
  {                                                                    \
    VERNIER_ADD_TO_TILE(add, 0, 4, 6, first, true)                     \
    VERNIER_ADD_TO_TILE(add, 1, 4, 7, right, kAllColumns)              \
    VERNIER_ADD_TO_TILE(add, 2, 5, 6, below, kAllRows)                 \
    VERNIER_ADD_TO_TILE(add, 3, 5, 7, last, (kAllRows && kAllColumns)) \
  }

// The first products of a block begin its sums.
template <TileNumbers kNumbers, bool kAllRows, bool kAllColumns, bool kFirst>
VERNIER_TILES inline void add_products([[maybe_unused]] const BlockProduct& p) {
  [[maybe_unused]] const SumsPlaces before(p.before, kBlockColumns), sums(p.sums, p.sums_stride);
  if constexpr (kNumbers == TileNumbers::kBFloat16) VERNIER_ADD_PRODUCTS(_tile_dpbf16ps)
  if constexpr (kNumbers == TileNumbers::kUint8) VERNIER_ADD_PRODUCTS(_tile_dpbusd)
  if constexpr (kNumbers == TileNumbers::kInt8) VERNIER_ADD_PRODUCTS(_tile_dpbssd)
}

template <bool kAllRows, bool kAllColumns>
VERNIER_TILES inline void store(const SumsPlaces& sums) {
  _tile_stored(0, sums.first, sums.stride);
  if constexpr (kAllColumns) _tile_stored(1, sums.right, sums.stride);
  if constexpr (kAllRows) _tile_stored(2, sums.below, sums.stride);
  if constexpr (kAllRows && kAllColumns) _tile_stored(3, sums.last, sums.stride);
}

// The products of one step, in an order in which most loaded tiles serve twice, small products first.
template <TileNumbers kNumbers, int kTerms, bool kAllRows, bool kAllColumns, bool kFirst>
VERNIER_TILES inline void add_step(const BlockProduct& p, const uint16_t* rows, const uint16_t* weights) {
  constexpr int64_t kPiece = 2 * kTileSize;  // of the weights
  const auto begin = add_products<kNumbers, kAllRows, kAllColumns, kFirst>;
  const auto multiply = add_products<kNumbers, kAllRows, kAllColumns, false>;
  const auto load = load_rows<kAllRows>;
  load_weights<kAllColumns>(weights);
  load(rows + (kTerms - 1) * p.term, p.row_bytes);
  begin(p);
  if constexpr (kTerms == 3) {
    load(rows + p.term, p.row_bytes);
    multiply(p);
  }
  if constexpr (kTerms >= 2) {
    load(rows, p.row_bytes);
    multiply(p);
    load_weights<kAllColumns>(weights + kPiece);
    multiply(p);
  }
  if constexpr (kTerms == 3) {
    load(rows + p.term, p.row_bytes);
    multiply(p);
    load_weights<kAllColumns>(weights + 2 * kPiece);
    load(rows, p.row_bytes);
    multiply(p);
  }
}

template <TileNumbers kNumbers, int kTerms, bool kAllRows, bool kAllColumns>
VERNIER_TILES void multiply(const BlockProduct& p, RowWork& meanwhile) {
  // Worth a call: bytes end faster than floats.
  constexpr int64_t kFewestRows = kNumbers == TileNumbers::kBFloat16 ? 4 : kBlockRows;
  const int64_t rows = meanwhile.rows(),
                chunk = std::max(kFewestRows, (rows + p.step_count - 1) / p.step_count);
  const int64_t lines = (p.later_lines + p.step_count - 1) / p.step_count;  // with each step
  const uint16_t* weights = p.weights;
  for (int64_t i = 0, row = 0; i < p.step_count; ++i, row += chunk, weights += kTerms * 2 * kTileSize) {
    if (i == 0)
      add_step<kNumbers, kTerms, kAllRows, kAllColumns, true>(p, p.rows + p.steps[i], weights);
    else
      add_step<kNumbers, kTerms, kAllRows, kAllColumns, false>(p, p.rows + p.steps[i], weights);
    for (int64_t line = i * lines; line < std::min((i + 1) * lines, p.later_lines); ++line)
      _mm_prefetch(p.later + line * kChunk, _MM_HINT_T1);
    if (row < rows) meanwhile.run(row, std::min(chunk, rows - row));
  }
  if (p.sums != nullptr) store<kAllRows, kAllColumns>(SumsPlaces(p.sums, p.sums_stride));
}

template <TileNumbers kNumbers, int kTerms>
void multiply_terms(const BlockShape& shape, const BlockProduct& product, RowWork& meanwhile) {
  const auto of_rows = shape.all_columns ? (shape.all_rows ? multiply<kNumbers, kTerms, true, true>
                                                           : multiply<kNumbers, kTerms, false, true>)
                                         : (shape.all_rows ? multiply<kNumbers, kTerms, true, false>
                                                           : multiply<kNumbers, kTerms, false, false>);
  of_rows(product, meanwhile);
}

VERNIER_TILES void store_all(void* sums) {
  store<true, true>(SumsPlaces(sums, kBlockColumns));
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

}  // namespace

bool has_bf16_tiles() {
  return has(Feature::kAmx);
}

TileScope::TileScope() {
  configure();
}

TileScope::~TileScope() {
  release();
}

void multiply_block(const BlockShape& shape, const BlockProduct& product, RowWork& meanwhile) {
  using enum TileNumbers;
  if (shape.numbers == kUint8) return multiply_terms<kUint8, 1>(shape, product, meanwhile);
  if (shape.numbers == kInt8) return multiply_terms<kInt8, 1>(shape, product, meanwhile);
  switch (shape.terms) {
    case 1: return multiply_terms<kBFloat16, 1>(shape, product, meanwhile);
    case 2: return multiply_terms<kBFloat16, 2>(shape, product, meanwhile);
    default: return multiply_terms<kBFloat16, 3>(shape, product, meanwhile);
  }
}

void multiply_block(const BlockShape& shape, const BlockProduct& product) {
  NoWork none;
  multiply_block(shape, product, none);
}

void store_block(void* sums) {
  store_all(sums);
}

}  // namespace vernier::cpu
