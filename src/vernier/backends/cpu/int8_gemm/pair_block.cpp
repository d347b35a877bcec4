#include "vernier/backends/cpu/int8_gemm/pair_block.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/int8_gemm/pair_block.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/int8_gemm/pair_vectors-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

#if HWY_TARGET != HWY_SCALAR

// The first kCount vectors of the columns of a panel.
template <int64_t kRows, int64_t kCount>
HWY_INLINE void multiply_rows(const PairProduct& p, int64_t row, int64_t panel) {
  const Sums d;
  const Pairs pairs;
  SumsVec sums[kRows][kCount];
#pragma GCC unroll 4
  for (int64_t v = 0; v < kCount; ++v) {
    const SumsVec initial =
        p.initial == nullptr ? hn::Zero(d) : hn::LoadU(d, p.initial + panel * kPanelColumns + v * kSumLanes);
#pragma GCC unroll 12
    for (int64_t r = 0; r < kRows; ++r) sums[r][v] = initial;
  }
  const int16_t* weights = p.weights + panel * p.segments * p.pairs * 2 * kPanelColumns;
  for (int64_t segment = 0; segment < p.segments; ++segment) {
    const int16_t* x = p.x[segment] + row * p.stride;
    for (int64_t pair = 0; pair < p.pairs; ++pair, weights += 2 * kPanelColumns, x += 2) {
      PairsVec w[kCount];
#pragma GCC unroll 4
      for (int64_t v = 0; v < kCount; ++v) w[v] = hn::LoadU(pairs, weights + v * kPairLanes);
#pragma GCC unroll 12
      for (int64_t r = 0; r < kRows; ++r) {
        int32_t both;
        std::memcpy(&both, x + r * p.stride, sizeof(both));
        const PairsVec all = hn::BitCast(pairs, hn::Set(d, both));
#pragma GCC unroll 4
        for (int64_t v = 0; v < kCount; ++v) sums[r][v] = add_pairs(all, w[v], sums[r][v]);
      }
    }
  }
#pragma GCC unroll 12
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kCount; ++v)
      hn::StoreU(sums[r][v], d, p.sums + (row + r) * kPairColumns + panel * kPanelColumns + v * kSumLanes);
  }
}

template <int64_t kRows, int64_t kCount>
HWY_INLINE void multiply_some(const PairProduct& p, int64_t row, int64_t rows, int64_t panel) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return multiply_rows<kRows, kCount>(p, row, panel);
    multiply_some<kRows - 1, kCount>(p, row, rows, panel);
  }
}

template <int64_t kCount>
HWY_INLINE void multiply_panel(const PairProduct& p, int64_t panel) {
  constexpr int64_t kMost = kCount == kVectors ? kSumRegisters / kCount : 8;  // more are bound by their loads
  // About equal parts: fewer rows make less of the weights that are loaded.
  for (int64_t row = 0, parts = (p.rows + kMost - 1) / kMost; parts > 0; --parts) {
    const int64_t rows = (p.rows - row + parts - 1) / parts;
    multiply_some<kMost, kCount>(p, row, rows, panel);
    row += rows;
  }
}

// Two vectors of the bytes of two rows, column by column, in the order of the columns.
HWY_INLINE void store_pairs(PairsVec a, PairsVec b, int16_t* to) {
  const Pairs d;
  HWY_ALIGN int16_t low[kPairLanes], high[kPairLanes];
  hn::Store(hn::InterleaveLower(d, a, b), d, low);
  hn::Store(hn::InterleaveUpper(d, a, b), d, high);
  constexpr int64_t kBlock = 8;  // int16 of 128 bits, in which vectors interleave
  for (int64_t block = 0; block < kPairLanes / kBlock; ++block) {
    std::memcpy(to + 2 * block * kBlock, low + block * kBlock, kBlock * sizeof(int16_t));
    std::memcpy(to + (2 * block + 1) * kBlock, high + block * kBlock, kBlock * sizeof(int16_t));
  }
}

// Packs the two rows of one pair of a panel; `second` is null behind the last row.
HWY_INLINE void pack_pair(const Int8Source& source, const uint8_t* first, const uint8_t* second,
                          int64_t columns, int16_t* to) {
  HWY_ALIGN int16_t a[kPanelColumns + kPairLanes] = {}, b[kPanelColumns + kPairLanes] = {};
  upcast(source, first, columns, a);
  if (second != nullptr) upcast(source, second, columns, b);
  std::fill(a + columns, a + kPanelColumns, int16_t{0});
  std::fill(b + columns, b + kPanelColumns, int16_t{0});
  for (int64_t column = 0; column < kPanelColumns; column += std::min(kPairLanes, kPanelColumns)) {
    if constexpr (kPairLanes <= kPanelColumns) {
      store_pairs(hn::Load(Pairs(), a + column), hn::Load(Pairs(), b + column), to + 2 * column);
    } else {
      HWY_ALIGN int16_t both[2 * kPairLanes];
      store_pairs(hn::Load(Pairs(), a), hn::Load(Pairs(), b), both);
      std::memcpy(to, both, 2 * kPanelColumns * sizeof(int16_t));
    }
  }
}

#endif

}  // namespace

#if HWY_TARGET == HWY_SCALAR

void multiply_pairs_here(const PairProduct& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.columns; ++column) {
      const int64_t panel = column / kPanelColumns;
      const int64_t before = panel * p.segments * p.pairs * kPanelColumns + column % kPanelColumns;
      const int16_t* w = p.weights + 2 * before;
      auto sum = static_cast<uint32_t>(p.initial == nullptr ? 0 : p.initial[column]);
      for (int64_t segment = 0; segment < p.segments; ++segment) {
        const int16_t* x = p.x[segment] + row * p.stride;
        for (int64_t pair = 0; pair < p.pairs; ++pair, x += 2, w += 2 * kPanelColumns)
          sum += static_cast<uint32_t>(x[0] * w[0] + x[1] * w[1]);
      }
      p.sums[row * kPairColumns + column] = static_cast<int32_t>(sum);
    }
  }
}

void pack_pairs_here(const Int8Source& matrix, int64_t depth, int64_t columns, int16_t* to) {
  for (int64_t panel = 0; panel < columns; panel += kPanelColumns) {
    for (int64_t k = 0; k < depth; k += 2) {
      for (int64_t i = 0; i < 2 * kPanelColumns; ++i) {
        const int64_t row = k + i % 2, column = panel + i / 2;
        *to++ = row < depth && column < columns ? upcast(matrix, matrix.from + row * columns + column) : 0;
      }
    }
  }
}

#else

void multiply_pairs_here(const PairProduct& p) {
  constexpr int64_t kHalf = (kVectors + 1) / 2;
  const int64_t panels = (p.columns + kPanelColumns - 1) / kPanelColumns;
  for (int64_t panel = 0; panel < panels; ++panel) {
    if (kHalf < kVectors && p.columns - panel * kPanelColumns <= kHalf * kSumLanes)
      multiply_panel<kHalf>(p, panel);
    else
      multiply_panel<kVectors>(p, panel);
  }
}

void pack_pairs_here(const Int8Source& matrix, int64_t depth, int64_t columns, int16_t* to) {
  for (int64_t column = 0; column < columns; column += kPanelColumns) {
    const int64_t count = std::min(kPanelColumns, columns - column);
    for (int64_t k = 0; k < depth; k += 2, to += 2 * kPanelColumns) {
      const uint8_t* first = matrix.from + k * columns + column;
      pack_pair(matrix, first, k + 1 < depth ? first + columns : nullptr, count, to);
    }
  }
}

#endif

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(multiply_pairs_here);
HWY_EXPORT(pack_pairs_here);

int64_t pair_panels_size(int64_t depth, int64_t columns) {
  return (columns + kPairColumns - 1) / kPairColumns * kPairColumns * 2 * pairs_of(depth);
}

void pack_pairs(const Int8Source& matrix, int64_t depth, int64_t columns, bool transposed, int16_t* to) {
  if (!transposed) return HWY_DYNAMIC_DISPATCH(pack_pairs_here)(matrix, depth, columns, to);
  const auto at = [&](int64_t k, int64_t column) -> int16_t {
    if (k >= depth || column >= columns) return 0;
    const uint8_t byte = matrix.from[column * depth + k];
    return static_cast<int16_t>((matrix.is_signed ? static_cast<int8_t>(byte) : byte) - matrix.zero_point);
  };
  for (int64_t panel = 0; panel < columns; panel += kPanelColumns) {
    for (int64_t pair = 0; pair < pairs_of(depth); ++pair) {
      for (int64_t column = panel; column < panel + kPanelColumns; ++column) {
        *to++ = at(2 * pair, column);
        *to++ = at(2 * pair + 1, column);
      }
    }
  }
}

void multiply_pairs(const PairProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_pairs_here)(product);
}

}  // namespace vernier::cpu
#endif
