#include "vernier/backends/cpu/tiles/pair_block.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/tiles/pair_block.cpp"
// What follows is included once for each instruction set, so its order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/tiles/pair_vectors-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE int16_t widened(const ByteSource& source, const uint8_t* from) {
  return static_cast<int16_t>((source.is_signed ? static_cast<int8_t>(*from) : *from) - source.zero_point);
}

HWY_INLINE void widen(const ByteSource& source, const uint8_t* from, int64_t count, int16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = widened(source, from + i);
}

#else

// Writes whole vectors.
HWY_INLINE void widen(const ByteSource& source, const uint8_t* from, int64_t count, int16_t* to) {
  const Pairs d;
  const auto zero = hn::Set(d, static_cast<int16_t>(source.zero_point));
  for (int64_t i = 0; i < count; i += kPairLanes) {
    uint8_t rest[kPairLanes] = {};
    const uint8_t* at = from + i;
    if (source.end - at < kPairLanes) {
      std::memcpy(rest, at, static_cast<size_t>(std::min(count - i, kPairLanes)));
      at = rest;
    }
    hn::StoreU(hn::Sub(widened(at, source.is_signed), zero), d, to + i);
  }
}

#endif

// The taps of a window along the last axis, of which those that follow each other lie so in memory, too,
// where nothing dilates and there is one group.
HWY_INLINE int16_t* widen_taps(const PairWindows& w, const ByteSource& source, const uint8_t* line, int64_t x,
                               int16_t* to) {
  const ops::WindowAxis& axis = w.axes[2];
  const auto zeros = [&](int64_t taps) {
    std::fill_n(to, taps * w.channels, int16_t{0});
    to += taps * w.channels;
  };
  if (line == nullptr) {
    zeros(axis.kernel);
    return to;
  }
  if (axis.dilation == 1 && w.channels == w.pixel_channels) {
    const int64_t at = axis.at(x, 0), begin = std::clamp<int64_t>(-at, 0, axis.kernel),
                  end = std::clamp<int64_t>(axis.input - at, begin, axis.kernel);
    if (begin > 0) zeros(begin);
    widen(source, line + (at + begin) * w.channels, (end - begin) * w.channels, to);
    to += (end - begin) * w.channels;
    if (end < axis.kernel) zeros(axis.kernel - end);
    return to;
  }
  for (int64_t tap = 0; tap < axis.kernel; ++tap) {
    const int64_t at = axis.at(x, tap);
    if (at < 0 || at >= axis.input) {
      zeros(1);
      continue;
    }
    widen(source, line + at * w.pixel_channels, w.channels, to);
    to += w.channels;
  }
  return to;
}

#if HWY_TARGET != HWY_SCALAR

template <int64_t kRows>
HWY_INLINE void multiply_rows(const PairProduct& p, int64_t row, int64_t panel) {
  const Sums d;
  const Pairs pairs;
  SumsVec sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; ++v) {
    const SumsVec start =
        p.starts == nullptr ? hn::Zero(d) : hn::LoadU(d, p.starts + panel * kPanelColumns + v * kSumLanes);
#pragma GCC unroll 12
    for (int64_t r = 0; r < kRows; ++r) sums[r][v] = start;
  }
  const int16_t* weights = p.weights + panel * p.pairs * 2 * kPanelColumns;
  const int16_t* x = p.x + row * p.stride;
  for (int64_t pair = 0; pair < p.pairs; ++pair, weights += 2 * kPanelColumns, x += 2) {
    PairsVec w[kVectors];
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) w[v] = hn::LoadU(pairs, weights + v * kPairLanes);
#pragma GCC unroll 12
    for (int64_t r = 0; r < kRows; ++r) {
      int32_t both;
      std::memcpy(&both, x + r * p.stride, sizeof(both));
      const PairsVec all = hn::BitCast(pairs, hn::Set(d, both));
#pragma GCC unroll 4
      for (int64_t v = 0; v < kVectors; ++v) sums[r][v] = add_pairs(all, w[v], sums[r][v]);
    }
  }
#pragma GCC unroll 12
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v)
      hn::StoreU(sums[r][v], d, p.sums + (row + r) * kPairColumns + panel * kPanelColumns + v * kSumLanes);
  }
}

template <int64_t kRows>
HWY_INLINE void multiply_last(const PairProduct& p, int64_t row, int64_t rows, int64_t panel) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return multiply_rows<kRows>(p, row, panel);
    multiply_last<kRows - 1>(p, row, rows, panel);
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

// Of a panel, the rows of one pair; `second` is null behind the last row.
HWY_INLINE void pack_pair(const ByteSource& source, const uint8_t* first, const uint8_t* second,
                          int64_t columns, int16_t* to) {
  HWY_ALIGN int16_t a[kPanelColumns + kPairLanes] = {}, b[kPanelColumns + kPairLanes] = {};
  widen(source, first, columns, a);
  if (second != nullptr) widen(source, second, columns, b);
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

void gather_windows_here(const PairWindows& windows, const ByteSource& images, int64_t channel, int64_t first,
                         int64_t count, int64_t stride, int16_t* to) {
  const auto& [z, y, x] = windows.axes;
  const int64_t line = x.input * windows.pixel_channels;
  WindowPlace place(windows, first);
  for (int64_t i = 0; i < count; ++i, to += stride, place.advance()) {
    const auto& [oz, oy, ox] = place.at;
    int16_t* at = to;
    for (int64_t kz = 0; kz < z.kernel; ++kz) {
      for (int64_t ky = 0; ky < y.kernel; ++ky) {
        const int64_t iz = z.at(oz, kz), iy = y.at(oy, ky);
        const bool inside = iz >= 0 && iz < z.input && iy >= 0 && iy < y.input;
        const uint8_t* from =
            inside ? images.from + ((place.image * z.input + iz) * y.input + iy) * line + channel : nullptr;
        at = widen_taps(windows, images, from, ox, at);
      }
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

void multiply_pairs_here(const PairProduct& p) {
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.columns; ++column) {
      const int64_t panel = column / kPanelColumns;
      const int16_t *x = p.x + row * p.stride,
                    *w = p.weights + 2 * (panel * p.pairs * kPanelColumns + column % kPanelColumns);
      auto sum = static_cast<uint32_t>(p.starts == nullptr ? 0 : p.starts[column]);
      for (int64_t pair = 0; pair < p.pairs; ++pair, x += 2, w += 2 * kPanelColumns)
        sum += static_cast<uint32_t>(x[0] * w[0] + x[1] * w[1]);
      p.sums[row * kPairColumns + column] = static_cast<int32_t>(sum);
    }
  }
}

void pack_pairs_here(const ByteSource& matrix, int64_t depth, int64_t columns, int16_t* to) {
  for (int64_t panel = 0; panel < columns; panel += kPanelColumns) {
    for (int64_t k = 0; k < depth; k += 2) {
      for (int64_t i = 0; i < 2 * kPanelColumns; ++i) {
        const int64_t row = k + i % 2, column = panel + i / 2;
        *to++ = row < depth && column < columns ? widened(matrix, matrix.from + row * columns + column) : 0;
      }
    }
  }
}

#else

void multiply_pairs_here(const PairProduct& p) {
  const int64_t panels = (p.columns + kPanelColumns - 1) / kPanelColumns;
  for (int64_t panel = 0; panel < panels; ++panel) {
    int64_t row = 0;
    for (; row + kMostRows <= p.rows; row += kMostRows) multiply_rows<kMostRows>(p, row, panel);
    multiply_last<kMostRows - 1>(p, row, p.rows - row, panel);
  }
}

void pack_pairs_here(const ByteSource& matrix, int64_t depth, int64_t columns, int16_t* to) {
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

HWY_EXPORT(gather_windows_here);
HWY_EXPORT(multiply_pairs_here);
HWY_EXPORT(pack_pairs_here);

PairWindows PairWindows::of_matrix(int64_t rows, int64_t depth) {
  PairWindows windows;
  windows.axes[2].input = windows.axes[2].output = rows;
  windows.channels = windows.pixel_channels = depth;
  return windows;
}

PairWindows PairWindows::of_convolution(const ops::Convolution& convolution) {
  PairWindows windows;
  std::copy_backward(convolution.axes.begin(), convolution.axes.end(), windows.axes.end());
  windows.images = convolution.batch;
  windows.channels = convolution.in_channels;
  windows.pixel_channels = convolution.in_channels * convolution.groups;
  return windows;
}

void gather_windows(const PairWindows& windows, const ByteSource& images, int64_t channel, int64_t first,
                    int64_t count, int64_t stride, int16_t* to) {
  HWY_DYNAMIC_DISPATCH(gather_windows_here)(windows, images, channel, first, count, stride, to);
}

int64_t pair_panels_size(int64_t depth, int64_t columns) {
  return (columns + kPairColumns - 1) / kPairColumns * kPairColumns * 2 * pairs_of(depth);
}

void pack_pairs(const ByteSource& matrix, int64_t depth, int64_t columns, bool transposed, int16_t* to) {
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
