// Products of uint8 by int8 on processors that sum two of them in an int16 that saturates: exact
// where no such sum can leave that, which weights see to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"
#include "vernier/backends/cpu/vectors/line_allocator.h"

namespace vernier::cpu {

// Bytes of a quad of a panel: four weights of each of kPanelColumns columns.
inline constexpr int64_t kQuadBytes = 4 * kPanelColumns;

// Weights by quads of the depth of each segment, [panel][segment][quad][column][4]. Two neighbours of one
// sign whose sum is beyond 128 could saturate: what one of them is too much lies in a quad behind the others,
// which is multiplied with the same bytes.
struct QuadWeights {
  std::vector<int32_t> offsets;  // of each quad: where its bytes lie, from the beginning of the segment
  std::vector<int64_t> first;    // of each panel and segment: its quads; and their number
  std::vector<int32_t> sums;     // of each column
  std::vector<int8_t> content;

  // Nothing, with `reason`, where the weights are not in [-128, 127] or too many quads would be added.
  static std::optional<QuadWeights> of(const Tensor& weights, const PairWeights& order, std::string& reason);
};

struct QuadProduct {
  const uint8_t* const* x;  // of each segment, where that of the first row lies
  int64_t segments, stride, rows;
  const int64_t* first;    // of QuadWeights, from the first panel of these columns on
  const int32_t* offsets;  // of all quads
  const int8_t* weights;
  const int32_t* initial;  // the initial accumulator of each column, of kPairColumns
  int64_t columns;         // that are asked for, kPairColumns at most
  int32_t* sums;           // [rows, kPairColumns], of which those that are asked for are written
};
void multiply_quads(const QuadProduct& product);

}  // namespace vernier::cpu
