#include "vernier/backends/cpu/normalization/channel_scale_loops.h"

#include <algorithm>

#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kVector = 32;

}  // namespace

bool has_channel_scale() {
  return has_bf16_vectors();
}

VERNIER_AVX512 void scale_channels(const ScaledRows& rows) {
  for (int64_t row = 0; row < rows.rows; ++row) {
    const int64_t first = row * rows.columns;
    for (int64_t column = 0; column < rows.columns; column += kVector) {
      const __mmask32 mask = first_bf16(std::min(kVector, rows.columns - column));
      const Bf16Pair x = load_bf16(rows.x + first + column, mask),
                     scale = load_bf16(rows.scale + column, mask);
      store_bf16({_mm512_mul_ps(x.even, scale.even), _mm512_mul_ps(x.odd, scale.odd)},
                 rows.y + first + column, mask);
    }
  }
}

}  // namespace vernier::cpu
