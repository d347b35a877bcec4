// Weights [N, K] whose elements are narrower than a byte.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// No weight has more elements along an axis, and products of two such numbers do not overflow.
inline constexpr int64_t kMaxWeightExtent = int64_t{1} << 30;

// Throws bad_input for sizes that no weight has.
void require_extents(int64_t n, int64_t k);

// Throws bad_input unless the input has `size` elements.
void require_size(const ReferenceContext& context, size_t input, int64_t size, const char* what);

// The bytes of an input that must be of UINT8 and of this size.
std::span<const uint8_t> packed_bytes(const ReferenceContext& context, size_t input, int64_t size,
                                      const char* what);

// Output 0 is of the type of `input`, whose last axis, which must be of `size`, becomes `result`.
void infer_last_axis(InferContext& context, size_t input, int64_t size, int64_t result);

// The integer of `bits` bits at position `index` of a row that is packed lowest bits first.
inline int64_t unpacked(const uint8_t* row, int64_t index, int64_t bits) {
  const int64_t position = index * bits, byte = position / 8, shift = position % 8;
  int64_t window = row[byte];
  if (shift + bits > 8) window |= static_cast<int64_t>(row[byte + 1]) << 8;
  return (window >> shift) & ((int64_t{1} << bits) - 1);
}

// Rows of `count` such integers, each of whole bytes, as reals [rows, count].
std::vector<double> unpacked_rows(std::span<const uint8_t> bytes, int64_t rows, int64_t count, int64_t bits);

// a [rows, k] * b [n, k]^T.
std::vector<double> times_transposed(std::span<const double> a, std::span<const double> b, int64_t n,
                                     int64_t k);

}  // namespace vernier::ops
