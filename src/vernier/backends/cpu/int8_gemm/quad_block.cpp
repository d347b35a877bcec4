#include "vernier/backends/cpu/int8_gemm/quad_block.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/int8_gemm/quad_block.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2

constexpr int64_t kLanes = 8, kVectors = kPanelColumns / kLanes;

// The first kCount vectors of the columns of a panel.
template <int64_t kRows, int64_t kCount>
HWY_INLINE void multiply_rows(const QuadProduct& p, int64_t row, int64_t panel) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kRows][kCount];
#pragma GCC unroll 2
  for (int64_t v = 0; v < kCount; ++v) {
    const auto* initial = reinterpret_cast<const __m256i*>(p.initial + panel * kPanelColumns + v * kLanes);
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) sums[r][v] = _mm256_loadu_si256(initial);
  }
  const int64_t* first = p.first + panel * p.segments;
  const int8_t* weights = p.weights + first[0] * kQuadBytes;
  for (int64_t segment = 0; segment < p.segments; ++segment) {
    const uint8_t* x = p.x[segment] + row * p.stride;
    for (int64_t quad = first[segment]; quad < first[segment + 1]; ++quad, weights += kQuadBytes) {
      const uint8_t* at = x + p.offsets[quad];
      __m256i w[kCount];
#pragma GCC unroll 2
      for (int64_t v = 0; v < kCount; ++v)
        w[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + v * 4 * kLanes));
#pragma GCC unroll 8
      for (int64_t r = 0; r < kRows; ++r) {
        int32_t four;
        std::memcpy(&four, at + r * p.stride, sizeof(four));
        const __m256i all = _mm256_set1_epi32(four);
#pragma GCC unroll 2
        for (int64_t v = 0; v < kCount; ++v)
          sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(_mm256_maddubs_epi16(all, w[v]), ones));
      }
    }
  }
#pragma GCC unroll 8
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kCount; ++v)
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(p.sums + (row + r) * kPairColumns + panel * kPanelColumns + v * kLanes),
          sums[r][v]);
  }
}

template <int64_t kRows, int64_t kCount>
HWY_INLINE void multiply_some(const QuadProduct& p, int64_t row, int64_t rows, int64_t panel) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return multiply_rows<kRows, kCount>(p, row, panel);
    multiply_some<kRows - 1, kCount>(p, row, rows, panel);
  }
}

template <int64_t kCount>
HWY_INLINE void multiply_panel(const QuadProduct& p, int64_t panel) {
  constexpr int64_t kMost = kCount == 1 ? 8 : 5;  // beside weights, ones and what is multiplied
  for (int64_t row = 0, parts = (p.rows + kMost - 1) / kMost; parts > 0; --parts) {
    const int64_t rows = (p.rows - row + parts - 1) / parts;
    multiply_some<kMost, kCount>(p, row, rows, panel);
    row += rows;
  }
}

#endif

}  // namespace

void multiply_quads_here(const QuadProduct& p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  const int64_t panels = (p.columns + kPanelColumns - 1) / kPanelColumns;
  for (int64_t panel = 0; panel < panels; ++panel) {
    if (p.columns - panel * kPanelColumns <= kLanes)
      multiply_panel<1>(p, panel);
    else
      multiply_panel<kVectors>(p, panel);
  }
#else
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.columns; ++column) {
      const int64_t* first = p.first + column / kPanelColumns * p.segments;
      auto sum = static_cast<uint32_t>(p.initial[column]);
      for (int64_t segment = 0; segment < p.segments; ++segment) {
        for (int64_t quad = first[segment]; quad < first[segment + 1]; ++quad) {
          const uint8_t* x = p.x[segment] + row * p.stride + p.offsets[quad];
          const int8_t* w = p.weights + quad * kQuadBytes + column % kPanelColumns * 4;
          for (int64_t i = 0; i < 4; ++i) sum += static_cast<uint32_t>(x[i] * w[i]);
        }
      }
      p.sums[row * kPairColumns + column] = static_cast<int32_t>(sum);
    }
  }
#endif
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(multiply_quads_here);

void multiply_quads(const QuadProduct& product) {
  HWY_DYNAMIC_DISPATCH(multiply_quads_here)(product);
}

namespace {

// 255 times as much is what an int16 holds, of either sign.
constexpr int32_t kMostOfTwo = 128;

using Quad = std::array<int8_t, kQuadBytes>;

// Gives what is taken from the first of two neighbours because their sum is beyond the bound.
int8_t excess_of(int32_t a, int32_t b) {
  const int32_t sum = a + b;
  if ((a > 0) != (b > 0) || std::abs(sum) <= kMostOfTwo) return 0;
  return static_cast<int8_t>(sum > 0 ? sum - kMostOfTwo : sum + kMostOfTwo);
}

// Takes from a quad what is too much; whether there was any.
bool relieve(Quad& quad, Quad& excess) {
  bool any = false;
  for (size_t i = 0; i < quad.size(); i += 2) {
    excess[i] = excess_of(quad[i], quad[i + 1]);
    quad[i] = static_cast<int8_t>(quad[i] - excess[i]);
    any = any || excess[i] != 0;
  }
  return any;
}

}  // namespace

std::optional<QuadWeights> QuadWeights::of(const Tensor& weights, const PairWeights& order,
                                           std::string& reason) {
  constexpr int64_t kFew = 8;  // quads that do no harm
  const int64_t depth = order.segment_depth(), panels = (order.columns + kPanelColumns - 1) / kPanelColumns;
  const int64_t fewest = panels * order.segments * ((depth + 3) / 4), most = fewest + fewest / 4 + kFew;
  QuadWeights result;
  result.sums.resize(static_cast<size_t>(panels * kPanelColumns));
  result.first.push_back(0);
  int32_t least = 0, largest = 0;
  // Reads a quad of a panel, from a place of a segment on.
  const auto quad_at = [&](int64_t panel, int64_t segment, int64_t k) {
    Quad quad{};
    const int64_t begin = panel * kPanelColumns, end = std::min(order.columns, begin + kPanelColumns);
    for (int64_t column = begin; column < end; ++column) {
      for (int64_t i = 0; i < std::min<int64_t>(4, depth - k); ++i) {
        const int32_t weight = order.weight(weights, 0, column, segment * depth + k + i);
        least = std::min(least, weight);
        largest = std::max(largest, weight);
        result.sums[static_cast<size_t>(column)] += weight;
        quad[static_cast<size_t>(4 * (column - begin) + i)] = static_cast<int8_t>(weight);
      }
    }
    return quad;
  };
  const auto add = [&](const Quad& quad, int64_t offset) {
    result.content.insert(result.content.end(), quad.begin(), quad.end());
    result.offsets.push_back(static_cast<int32_t>(offset));
  };
  for (int64_t at = 0; at < panels * order.segments; ++at) {
    std::vector<std::pair<Quad, int64_t>> added;
    for (int64_t k = 0; k < depth; k += 4) {
      Quad quad = quad_at(at / order.segments, at % order.segments, k), excess{};
      if (relieve(quad, excess)) added.emplace_back(excess, k);
      add(quad, k);
    }
    for (const auto& [quad, offset] : added) add(quad, offset);
    result.first.push_back(std::ssize(result.offsets));
    reason = "weights beyond int8, less their zero points";
    if (least < -128 || largest > 127) return std::nullopt;
    reason = "too many neighbours among the weights have large sums";
    if (result.first.back() > most) return std::nullopt;
  }
  return result;
}

}  // namespace vernier::cpu
#endif
