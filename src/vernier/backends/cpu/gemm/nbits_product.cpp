#include "vernier/backends/cpu/gemm/nbits_product.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/gemm/nbits_product.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using Floats = hn::CappedTag<float, kPanelColumns>;
using Words = hn::RebindToUnsigned<Floats>;
using Vec = hn::Vec<Floats>;

// The code at place kAt of each word, times 2^(kBits * kAt) unless it is the highest.
template <int kBits, int kAt>
HWY_INLINE Vec code(hn::Vec<Words> words) {
  constexpr bool kHighest = (kAt + 1) * kBits == 32;
  const hn::RebindToSigned<Floats> d;
  constexpr uint32_t kMask = ((uint32_t{1} << kBits) - 1) << (kHighest ? 0 : kAt * kBits);
  const auto bits = kHighest ? hn::ShiftRight<32 - kBits>(words) : hn::And(words, hn::Set(Words(), kMask));
  return hn::ConvertTo(Floats(), hn::BitCast(d, bits));
}

// Adds the products of kRows rows with the codes of a block; `x` of each row lies `stride` apart.
template <int kBits, int kRows, int kChains, int kAt = 0>
HWY_INLINE void add_codes(hn::Vec<Words> words, const float* x, int64_t stride, Vec (&sums)[kRows][kChains]) {
  const Vec codes = code<kBits, kAt>(words);
  for (int r = 0; r < kRows; ++r) {
    Vec& sum = sums[r][kAt % kChains];
    sum = hn::MulAdd(hn::Set(Floats(), x[r * stride + kAt]), codes, sum);
  }
  if constexpr ((kAt + 1) * kBits < 32) add_codes<kBits, kRows, kChains, kAt + 1>(words, x, stride, sums);
}

template <int kBits, int kRows, int kChains>
HWY_INLINE void sum_block(const uint32_t* words, int64_t count, const float* x, int64_t stride,
                          Vec (&sums)[kRows][kChains]) {
  for (auto& row : sums) {
    for (Vec& sum : row) sum = hn::Zero(Floats());
  }
  constexpr int kCodes = 32 / kBits;
  for (int64_t i = 0; i < count; ++i)
    add_codes<kBits, kRows, kChains>(hn::LoadU(Words(), words + i * kPanelColumns), x + i * kCodes, stride,
                                     sums);
  for (auto& row : sums) {
    for (int chain = 1; chain < kChains; ++chain) row[0] = hn::Add(row[0], row[chain]);
  }
}

HWY_INLINE Vec load_floats(const uint32_t* words) {
  return hn::BitCast(Floats(), hn::LoadU(Words(), words));
}

// One panel by kRows rows.
template <int kBits, int kRows, int kChains>
HWY_ATTR void multiply_rows(const NbitsShape& shape, const uint32_t* panel, const float* x,
                            const float* x_sums, float* to) {
  const Floats d;
  const int64_t blocks = shape.blocks(), count = shape.block / shape.codes();
  for (int64_t lane = 0; lane < kPanelColumns; lane += static_cast<int64_t>(hn::Lanes(d))) {
    const Vec zero = hn::Set(d, shape.zero);
    Vec totals[kRows], sums[kRows][kChains];
    for (Vec& total : totals) total = hn::Zero(d);
    for (int64_t block = 0; block < blocks; ++block) {
      const uint32_t* scales = panel + block * shape.block_size() + lane;
      const Vec zeros = shape.has_zeros ? load_floats(scales + kPanelColumns) : zero;
      sum_block<kBits, kRows, kChains>(scales + (shape.has_zeros ? 2 : 1) * kPanelColumns, count,
                                       x + block * shape.block, shape.padded_depth(), sums);
      const Vec scale = load_floats(scales);
      for (int r = 0; r < kRows; ++r) {
        const Vec moved = hn::NegMulAdd(zeros, hn::Set(d, x_sums[r * blocks + block]), sums[r][0]);
        totals[r] = hn::MulAdd(scale, moved, totals[r]);
      }
    }
    for (int r = 0; r < kRows; ++r) hn::StoreU(totals[r], d, to + r * kPanelColumns + lane);
  }
}

template <int kBits>
HWY_ATTR void multiply_panel(const NbitsShape& shape, const uint32_t* panel, const NbitsRows& x, int64_t rows,
                             const float* bias, float* y, int64_t column) {
  constexpr int64_t kMostRows = 8;
  const int64_t count = std::min(kPanelColumns, shape.columns - column);
  float results[kMostRows * kPanelColumns];
  for (int64_t row = 0; row < rows;) {
    const float *scaled = x.scaled + row * shape.padded_depth(), *sums = x.sums + row * shape.blocks();
    const int64_t left = rows - row, taken = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    switch (taken) {
      case 8: multiply_rows<kBits, 8, 1>(shape, panel, scaled, sums, results); break;
      case 4: multiply_rows<kBits, 4, 2>(shape, panel, scaled, sums, results); break;
      case 2: multiply_rows<kBits, 2, 4>(shape, panel, scaled, sums, results); break;
      default: multiply_rows<kBits, 1, 4>(shape, panel, scaled, sums, results); break;
    }
    for (int64_t r = 0; r < taken; ++r) {
      float* to = y + (row + r) * shape.columns + column;
      for (int64_t c = 0; c < count; ++c)
        to[c] = results[r * kPanelColumns + c] + (bias == nullptr ? 0.0F : bias[column + c]);
    }
    row += taken;
  }
}

// The codes of a word, as they are, times the scale.
template <int kBits, int kAt = 0>
HWY_INLINE void store_codes(hn::Vec<Words> words, Vec scale, Vec zero, float* to, int64_t stride,
                            int64_t rows) {
  if (kAt >= rows) return;
  const auto low = hn::And(hn::ShiftRight<kAt * kBits>(words), hn::Set(Words(), (uint32_t{1} << kBits) - 1));
  const Vec code = hn::ConvertTo(Floats(), hn::BitCast(hn::RebindToSigned<Floats>(), low));
  hn::StoreU(hn::Mul(hn::Sub(code, zero), scale), Floats(), to + kAt * stride);
  if constexpr ((kAt + 1) * kBits < 32) store_codes<kBits, kAt + 1>(words, scale, zero, to, stride, rows);
}

template <int kBits>
HWY_ATTR void dequantize_panel(const NbitsShape& shape, const uint32_t* panel, float* to, int64_t stride) {
  const Floats d;
  constexpr int64_t kCodes = 32 / kBits;
  for (int64_t k = 0; k < shape.depth; k += kCodes) {
    const uint32_t* scales = panel + k / shape.block * shape.block_size();
    const uint32_t* words = scales + kPanelColumns * ((shape.has_zeros ? 2 : 1) + k % shape.block / kCodes);
    for (int64_t lane = 0; lane < kPanelColumns; lane += static_cast<int64_t>(hn::Lanes(d))) {
      const Vec zero = shape.has_zeros ? load_floats(scales + kPanelColumns + lane) : hn::Set(d, shape.zero);
      store_codes<kBits>(hn::LoadU(Words(), words + lane), load_floats(scales + lane), zero,
                         to + k * stride + lane, stride, shape.depth - k);
    }
  }
}

}  // namespace

void multiply_nbits(const NbitsShape& shape, const uint32_t* panels, const NbitsRows& x, int64_t rows,
                    const float* bias, float* y, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    const uint32_t* panel = panels + i * shape.panel_size();
    if (shape.bits == 4)
      multiply_panel<4>(shape, panel, x, rows, bias, y, i * kPanelColumns);
    else
      multiply_panel<8>(shape, panel, x, rows, bias, y, i * kPanelColumns);
  }
}

void dequantize_nbits(const NbitsShape& shape, const uint32_t* panel, float* to, int64_t stride) {
  if (shape.bits == 4)
    dequantize_panel<4>(shape, panel, to, stride);
  else
    dequantize_panel<8>(shape, panel, to, stride);
}

void prepare_nbits_row(const NbitsShape& shape, const float* x, float* scaled, float* sums) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  std::copy(x, x + shape.depth, scaled);
  std::fill(scaled + shape.depth, scaled + shape.padded_depth(), 0.0F);
  // The highest code of a word is moved to the lowest bits.
  float places[kPanelColumns];
  for (int64_t i = 0; i < kPanelColumns; ++i) {
    const int64_t at = i % shape.codes();
    places[i] = std::ldexp(1.0F, at + 1 == shape.codes() ? 0 : static_cast<int>(-at * shape.bits));
  }
  for (int64_t block = 0; block < shape.blocks(); ++block) {
    Vec sum = hn::Zero(d);
    for (int64_t i = 0; i < shape.block; i += lanes) {
      float* at = scaled + block * shape.block + i;
      const Vec value = hn::LoadU(d, at);
      sum = hn::Add(sum, value);
      hn::StoreU(hn::Mul(value, hn::LoadU(d, places + i % kPanelColumns)), d, at);
    }
    sums[block] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(multiply_nbits);
HWY_EXPORT(dequantize_nbits);
HWY_EXPORT(prepare_nbits_row);

void multiply_nbits(const NbitsShape& shape, const uint32_t* panels, const NbitsRows& x, int64_t rows,
                    const float* bias, float* y, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(multiply_nbits)(shape, panels, x, rows, bias, y, first, last);
}
void dequantize_nbits(const NbitsShape& shape, const uint32_t* panel, float* to, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(dequantize_nbits)(shape, panel, to, stride);
}
void prepare_nbits_row(const NbitsShape& shape, const float* x, float* scaled, float* sums) {
  HWY_DYNAMIC_DISPATCH(prepare_nbits_row)(shape, x, scaled, sums);
}

void pack_nbits(const NbitsShape& shape, const uint8_t* weights, const float* scales, const float* zeros,
                uint32_t* panels) {
  const int64_t blocks = shape.blocks(), block_bytes = shape.block * shape.bits / 8;
  const int64_t words = shape.block / shape.codes();
  std::memset(panels, 0, static_cast<size_t>(shape.panels() * shape.panel_size()) * sizeof(uint32_t));
  for (int64_t column = 0; column < shape.columns; ++column) {
    uint32_t* panel = panels + column / kPanelColumns * shape.panel_size() + column % kPanelColumns;
    for (int64_t block = 0; block < blocks; ++block, panel += shape.block_size()) {
      const int64_t at = column * blocks + block;
      uint32_t* codes = panel + kPanelColumns;
      std::memcpy(panel, scales + at, sizeof(float));
      if (shape.has_zeros) {
        std::memcpy(codes, zeros + at, sizeof(float));
        codes += kPanelColumns;
      }
      const uint8_t* bytes = weights + at * block_bytes;
      for (int64_t i = 0; i < words; ++i) {
        uint32_t word = 0;
        for (int byte = 3; byte >= 0; --byte) word = word << 8 | bytes[i * 4 + byte];
        codes[i * kPanelColumns] = word;
      }
    }
  }
}

}  // namespace vernier::cpu
#endif
