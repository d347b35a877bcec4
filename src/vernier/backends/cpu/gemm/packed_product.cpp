#include "vernier/backends/cpu/gemm/packed_product.h"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/gemm/packed_product.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;

constexpr int64_t kVectors = 2;  // of a panel
// At a time: their sums and a panel's vectors fit into 16 registers, or 32.
constexpr int64_t kMaxRows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
constexpr int64_t kDepth = 512;  // sums of more products lose digits: blocks are added up

// The vectors of a panel at one depth, and how many floats further those of the next lie. Columns from
// `columns` on are zero, and not read.
template <bool kWhole>
struct PanelVectors {
  const float* first;
  int64_t stride, columns;

  HWY_ATTR std::pair<Vec, Vec> at(int64_t k) const {
    const Floats d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const float* weights = first + k * stride;
    if constexpr (kWhole) {
      return {hn::LoadU(d, weights), hn::LoadU(d, weights + lanes)};
    } else {
      const auto low = static_cast<size_t>(std::min(columns, lanes)),
                 high = static_cast<size_t>(columns) - low;
      return {hn::MaskedLoad(hn::FirstN(d, low), d, weights),
              hn::MaskedLoad(hn::FirstN(d, high), d, weights + lanes)};
    }
  }
};

// kRows rows by one panel, over `depth` products in kChains sums each, so that few rows do not wait for their
// own sums. Adds to what is in y, or to the bias.
template <int64_t kRows, int64_t kChains, bool kWhole>
HWY_ATTR void add_products(const float* x, int64_t x_stride, const PanelVectors<kWhole>& panel, int64_t depth,
                           const float* initial, int64_t start_stride, float* y, int64_t y_stride) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vec sums[kChains][kRows][kVectors];
#pragma GCC unroll 4
  for (auto& chain : sums) {
#pragma GCC unroll 12
    for (auto& row : chain) {
      for (Vec& sum : row) sum = hn::Zero(d);
    }
  }
  const auto add = [&](int64_t chain, int64_t k) HWY_ATTR {
    const auto [w0, w1] = panel.at(k);
#pragma GCC unroll 12
    for (int64_t r = 0; r < kRows; ++r) {
      const Vec each = hn::Set(d, x[r * x_stride + k]);
      sums[chain][r][0] = hn::MulAdd(each, w0, sums[chain][r][0]);
      sums[chain][r][1] = hn::MulAdd(each, w1, sums[chain][r][1]);
    }
  };
  int64_t k = 0;
  for (; k + kChains <= depth; k += kChains) {
#pragma GCC unroll 4
    for (int64_t chain = 0; chain < kChains; ++chain) add(chain, k + chain);
  }
  for (; k < depth; ++k) add(0, k);
#pragma GCC unroll 12
  for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kVectors; ++v) {
      Vec sum = sums[0][r][v];
#pragma GCC unroll 4
      for (int64_t chain = 1; chain < kChains; ++chain) sum = hn::Add(sum, sums[chain][r][v]);
      if (initial != nullptr) sum = hn::Add(sum, hn::LoadU(d, initial + r * start_stride + v * lanes));
      hn::StoreU(sum, d, y + r * y_stride + v * lanes);
    }
  }
}

template <int64_t kRows, int64_t kChains, bool kWhole>
HWY_ATTR void multiply_rows(const PanelProduct& p, int64_t row, int64_t depth, PanelVectors<kWhole> panel,
                            int64_t column) {
  const float* x = p.x + row * p.x_stride;
  float* y = p.y + row * p.y_stride + column;
  const float* initial = p.add ? y : p.bias == nullptr ? nullptr : p.bias + column;
  add_products<kRows, kChains>(x, p.x_stride, panel, std::min(depth, kDepth), initial, p.add ? p.y_stride : 0,
                               y, p.y_stride);
  for (int64_t k = kDepth; k < depth; k += kDepth) {
    panel.first += kDepth * panel.stride;
    add_products<kRows, kChains>(x + k, p.x_stride, panel, std::min(depth - k, kDepth), y, p.y_stride, y,
                                 p.y_stride);
  }
}

template <bool kWhole>
using MultiplyRows = void (*)(const PanelProduct& p, int64_t row, int64_t depth, PanelVectors<kWhole> panel,
                              int64_t column);

template <bool kWhole, size_t... kRows>
constexpr std::array<MultiplyRows<kWhole>, sizeof...(kRows)> all_rows(std::index_sequence<kRows...>) {
  return {multiply_rows<static_cast<int64_t>(kRows) + 1, 1, kWhole>...};
}
// By the number of rows, less one.
template <bool kWhole>
constexpr auto kMultiply = all_rows<kWhole>(std::make_index_sequence<kMaxRows>());

template <bool kWhole>
MultiplyRows<kWhole> multiply_few(int64_t rows) {
  return rows == 1   ? multiply_rows<1, 4, kWhole>
         : rows == 2 ? multiply_rows<2, 2, kWhole>
                     : multiply_rows<3, 2, kWhole>;
}

template <bool kWhole>
void multiply_panel(const PanelProduct& p, int64_t depth, const PanelVectors<kWhole>& panel, int64_t column) {
  constexpr int64_t kFew = 3;
  if (p.rows <= kFew) {
    if (p.rows > 0) multiply_few<kWhole>(p.rows)(p, 0, depth, panel, column);
    return;
  }
  // Parts of about the same size: few rows wait for their sums.
  const int64_t parts = (p.rows + kMaxRows - 1) / kMaxRows;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t row = p.rows * part / parts, count = p.rows * (part + 1) / parts - row;
    kMultiply<kWhole>[static_cast<size_t>(count - 1)](p, row, depth, panel, column);
  }
}

}  // namespace

int64_t panel_columns_here() {
  return kVectors * static_cast<int64_t>(hn::Lanes(Floats()));
}

void multiply_panels_here(const PanelProduct& p, const PackedShape& shape, int64_t first, int64_t last) {
  const int64_t width = panel_columns_here(), depth = shape.depth;
  for (int64_t i = first; i < last; ++i) {
    if (p.matrix_stride == 0) {
      multiply_panel<true>(p, depth, {p.panels + i * width * depth, width, width}, i * width);
      continue;
    }
    const float* panel = p.panels + i * width;
    const int64_t columns = shape.columns - i * width;
    if (columns >= width)
      multiply_panel<true>(p, depth, {panel, p.matrix_stride, width}, 0);
    else
      multiply_panel<false>(p, depth, {panel, p.matrix_stride, columns}, 0);
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(panel_columns_here);
HWY_EXPORT(multiply_panels_here);

int64_t panel_columns() {
  static const int64_t columns = HWY_DYNAMIC_DISPATCH(panel_columns_here)();
  return columns;
}

void pack_panels(const float* weights, const PackedShape& shape, int64_t column_stride, int64_t depth_stride,
                 float* panels) {
  const int64_t width = panel_columns();
  for (int64_t first = 0; first < shape.columns; first += width) {
    const int64_t count = std::min(width, shape.columns - first);
    for (int64_t k = 0; k < shape.depth; ++k, panels += width) {
      for (int64_t i = 0; i < count; ++i) panels[i] = weights[(first + i) * column_stride + k * depth_stride];
      std::fill(panels + count, panels + width, 0.0F);
    }
  }
}

void multiply_panels(const PanelProduct& product, const PackedShape& shape, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(multiply_panels_here)(product, shape, first, last);
}

}  // namespace vernier::cpu
#endif
