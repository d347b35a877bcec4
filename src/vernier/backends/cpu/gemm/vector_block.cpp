#include "vernier/backends/cpu/gemm/vector_block.h"

#include <array>
#include <cstring>
#include <utility>

#include "vernier/backends/cpu/epilogue/column_pairs.h"
#include "vernier/backends/cpu/epilogue/vector_epilogue.h"
#include "vernier/backends/cpu/vector_instructions.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kLanes = 16, kVectorBytes = 64, kWeightBytes = kVectorColumns * kVnniGroupBytes;
// 12 rows by two vectors are 24 accumulators, which leaves registers for weights and for a VNNI group of x.
constexpr int64_t kMostRows = 12;
// The weights come from memory while others are multiplied; processors look ahead within a page only.
constexpr int64_t kAhead = 64;  // VNNI groups

// Accumulators of all types are held as vectors of floats.
template <ElementType kElement>
VERNIER_AVX512 inline __m512 add_groups(__m512 sums, __m512i row, __m512i weights) {
  if constexpr (kElement == ElementType::kFloat)
    return _mm512_fmadd_ps(_mm512_castsi512_ps(row), _mm512_castsi512_ps(weights), sums);
  else if constexpr (kElement == ElementType::kBFloat16)
    return _mm512_dpbf16_ps(sums, reinterpret_cast<const __m512bh&>(row),
                            reinterpret_cast<const __m512bh&>(weights));
  else
    return _mm512_castsi512_ps(_mm512_dpbusd_epi32(_mm512_castps_si512(sums), row, weights));
}

template <ElementType kElement>
VERNIER_AVX512 inline __m512i group_for_all(const std::byte* at) {
  int32_t group;
  std::memcpy(&group, at, sizeof(group));
  const __m512i groups = _mm512_set1_epi32(group);
  if constexpr (kElement == ElementType::kInt8)
    return _mm512_xor_si512(groups, _mm512_set1_epi32(static_cast<int>(0x80808080U)));
  else
    return groups;
}

// How rows lie, and whether sums end before they are stored.
enum class Rows : uint8_t { kWhole, kWholeToTheEnd, kInChunks };

// Stores the accumulators of one row.
template <class T, int64_t kVectors>
VERNIER_AVX512 inline void end_row(const VectorOutput& output, const VectorEpilogue<RowGate::kNone>& end,
                                   const ColumnMasks& masks, int64_t row, const __m512 (&sums)[kVectors]) {
  ColumnPair pair{sums[0], kVectors > 1 ? sums[kVectors - 1] : _mm512_setzero_ps()};
  if (output.residual != nullptr) {
    const ColumnPair more = load_pair(static_cast<const T*>(output.residual) + row * output.stride, masks);
    pair = {_mm512_add_ps(pair.first, more.first), _mm512_add_ps(pair.second, more.second)};
  }
  store_pair({end.of(pair.first), end.of(pair.second)}, static_cast<T*>(output.y) + row * output.stride,
             masks);
}

template <ElementType kElement, Rows kForm, int64_t kVectors, bool kFetch, int64_t kRows>
VERNIER_AVX512 void multiply_rows(const VectorProduct& p, int64_t row) {
  constexpr bool kWhole = kForm != Rows::kInChunks;
  const int64_t stride = p.row_bytes, sums_stride = kWhole ? kVectorColumns : p.sums_stride,
                chunks = kWhole ? 1 : p.chunks, groups_of_chunk = kWhole ? p.groups : kChunkGroups;
  __m512 initial[kVectors], sums[kRows][kVectors];
#pragma GCC unroll 2
  for (int64_t v = 0; v < kVectors; ++v)
    initial[v] = p.initial == nullptr ? _mm512_setzero_ps()
                                      : _mm512_loadu_ps(static_cast<const float*>(p.initial) + v * kLanes);
#pragma GCC unroll 12
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = initial[v];
  }
  const std::byte *chunk = p.x + row * stride, *weights = p.weights;
  for (int64_t i = 0; i < chunks; ++i, chunk += p.chunk_bytes) {
    const std::byte* x = chunk;
#pragma GCC unroll 4
    for (int64_t group = 0; group < groups_of_chunk; ++group, x += kVnniGroupBytes, weights += kWeightBytes) {
      __m512i w[kVectors];
#pragma GCC unroll 2
      for (int64_t v = 0; v < kVectors; ++v) {
        w[v] = _mm512_loadu_si512(weights + v * kVectorBytes);
        if constexpr (kFetch) _mm_prefetch(weights + kAhead * kWeightBytes + v * kVectorBytes, _MM_HINT_T0);
      }
#pragma GCC unroll 12
      for (int64_t r = 0; r < kRows; ++r) {
        const __m512i groups = group_for_all<kElement>(x + r * stride);
#pragma GCC unroll 2
        for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = add_groups<kElement>(sums[r][v], groups, w[v]);
      }
    }
  }
  if constexpr (kForm == Rows::kWholeToTheEnd) {
    using Stored = std::conditional_t<kElement == ElementType::kFloat, float, uint16_t>;
    const VectorEpilogue<RowGate::kNone> end({p.output->low, p.output->high});
    const ColumnMasks masks = column_masks(p.columns);
#pragma GCC unroll 12
    for (int64_t r = 0; r < kRows; ++r) end_row<Stored>(*p.output, end, masks, row + r, sums[r]);
    return;
  }
  float* to = static_cast<float*>(p.sums) + row * sums_stride;
  const bool adds = !kWhole && p.adds;
#pragma GCC unroll 12
  for (int64_t r = 0; r < kRows; ++r, to += sums_stride) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) {
      float* at = to + v * kLanes;
      _mm512_storeu_ps(at, adds ? _mm512_add_ps(_mm512_loadu_ps(at), sums[r][v]) : sums[r][v]);
    }
  }
}

using MultiplyRows = void (*)(const VectorProduct& product, int64_t row);

template <ElementType kElement, Rows kForm, int64_t kVectors, bool kFetch, size_t... kRows>
constexpr std::array<MultiplyRows, sizeof...(kRows)> table_of(std::index_sequence<kRows...>) {
  return {multiply_rows<kElement, kForm, kVectors, kFetch, static_cast<int64_t>(kRows) + 1>...};
}

// In parts of about the same size: a sum has to wait for the one before it. The first brings the weights.
// Calls end(row, count) after each.
template <ElementType kElement, int64_t kVectors, Rows kForm, class End>
void multiply_parts(const VectorProduct& product, const End& end) {
  using Counts = std::make_index_sequence<kMostRows>;
  static constexpr std::array kTables = {table_of<kElement, kForm, kVectors, false>(Counts()),
                                         table_of<kElement, kForm, kVectors, true>(Counts())};
  const int64_t parts = (product.rows + kMostRows - 1) / kMostRows;
  for (int64_t part = 0, row = 0; part < parts; ++part) {
    const int64_t count = product.rows * (part + 1) / parts - row;
    kTables[part == 0 && product.fetches ? 1 : 0][static_cast<size_t>(count - 1)](product, row);
    end(row, count);
    row += count;
  }
}

template <ElementType kElement, int64_t kVectors, Rows kForm = Rows::kWhole>
void multiply_all(const VectorProduct& product) {
  multiply_parts<kElement, kVectors, kForm>(product, [](int64_t, int64_t) {});
}

// The processor ends a part while it multiplies the next.
template <ElementType kElement>
void multiply_int8(const VectorProduct& product) {
  multiply_parts<kElement, 2, Rows::kWhole>(
      product, [&](int64_t row, int64_t count) { product.bytes->store(row, count); });
}

template <ElementType kElement, Rows kForm = Rows::kWhole>
void multiply_element(const VectorProduct& product) {
  product.columns > kLanes ? multiply_all<kElement, 2, kForm>(product)
                           : multiply_all<kElement, 1, kForm>(product);
}

}  // namespace

bool has_vector_blocks() {
  return has_bf16_vectors();
}

void multiply_vectors(ElementType element, const VectorProduct& product) {
  if (product.chunks > 0) return multiply_all<ElementType::kBFloat16, 2, Rows::kInChunks>(product);
  if (product.output != nullptr) {
    return element == ElementType::kFloat
               ? multiply_element<ElementType::kFloat, Rows::kWholeToTheEnd>(product)
               : multiply_element<ElementType::kBFloat16, Rows::kWholeToTheEnd>(product);
  }
  if (product.bytes != nullptr) {
    return element == ElementType::kInt8 ? multiply_int8<ElementType::kInt8>(product)
                                         : multiply_int8<ElementType::kUint8>(product);
  }
  switch (element) {
    case ElementType::kFloat: return multiply_element<ElementType::kFloat>(product);
    case ElementType::kBFloat16: return multiply_element<ElementType::kBFloat16>(product);
    case ElementType::kInt8: return multiply_element<ElementType::kInt8>(product);
    default: return multiply_element<ElementType::kUint8>(product);
  }
}

}  // namespace vernier::cpu
