#include "vernier/backends/cpu/epilogue/tile_store.h"

#include "vernier/backends/cpu/epilogue/column_pairs.h"
#include "vernier/backends/cpu/epilogue/vector_epilogue.h"
#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {

namespace {

template <class T, bool kResidual, RowGate kGate>
VERNIER_AVX512 void store_as(const TileStore& s) {
  const ColumnMasks masks = column_masks(s.columns);
  const ColumnPair bias = load_pair(s.bias, masks);
  const VectorEpilogueOf<T, kGate> end(s.end);
  const auto* residual = static_cast<const T*>(s.residual);
  auto* y = static_cast<T*>(s.y);
  for (int64_t row = 0; row < s.rows; ++row, y += s.stride) {
    ColumnPair sums = load_pair(s.sums + row * kBlockColumns, masks);
    sums = {_mm512_add_ps(sums.first, bias.first), _mm512_add_ps(sums.second, bias.second)};
    if constexpr (kResidual) {
      const ColumnPair more = load_pair(residual + row * s.stride, masks);
      sums = {_mm512_add_ps(sums.first, more.first), _mm512_add_ps(sums.second, more.second)};
    }
    store_pair({end.of(sums.first), end.of(sums.second)}, y, masks);
  }
}

template <class T, RowGate kGate>
void store_with(const TileStore& store) {
  store.residual != nullptr ? store_as<T, true, kGate>(store) : store_as<T, false, kGate>(store);
}

}  // namespace

void store_tiles(const TileStore& store) {
  if (!store.is_narrow) {
    return store.end.gate == RowGate::kSwish ? store_with<float, RowGate::kSwish>(store)
                                             : store_with<float, RowGate::kNone>(store);
  }
  switch (store.end.gate) {
    case RowGate::kNone: return store_with<uint16_t, RowGate::kNone>(store);
    case RowGate::kSwish: return store_with<uint16_t, RowGate::kSwish>(store);
    case RowGate::kGelu: return store_with<uint16_t, RowGate::kGelu>(store);
    case RowGate::kGeluTanh: return store_with<uint16_t, RowGate::kGeluTanh>(store);
  }
}

}  // namespace vernier::cpu
