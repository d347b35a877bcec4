#include "vernier/backends/cpu/depthwise/int8_depthwise_loops.h"

#include <algorithm>

#include "vernier/backends/cpu/depthwise/int8_depthwise_columns.h"
#include "vernier/backends/cpu/processor.h"

namespace vernier::cpu {

namespace {

using namespace int8_columns;

// Stores a register: each piece to an output of its own, if there is one.
struct Storer {
  __mmask64 mask;
  int64_t pieces, count, outputs;  // of a piece, and of the line
  int64_t to_piece, to_pixel, to_row;
  uint8_t* to;
  __m512i zero, low, high;
  bool is_signed;

  template <bool kMasked>
  VERNIER_VNNI_INLINE void pixels(__m512i bytes, int64_t row, int64_t output) const {
    uint8_t* at = to + row * to_row + output * to_pixel;
    if (pieces == 1)
      return kMasked ? _mm512_mask_storeu_epi8(at, mask, bytes) : _mm512_storeu_si512(at, bytes);
    if (pieces == 2) {
      const auto some = static_cast<__mmask32>(mask);
      _mm256_mask_storeu_epi8(at, some, _mm512_castsi512_si256(bytes));
      if (output + count < outputs)
        _mm256_mask_storeu_epi8(at + to_piece, some, _mm512_extracti64x4_epi64(bytes, 1));
      return;
    }
    const auto some = static_cast<__mmask16>(mask);
    _mm_mask_storeu_epi8(at, some, _mm512_castsi512_si128(bytes));
    if (output + count < outputs)
      _mm_mask_storeu_epi8(at + to_piece, some, _mm512_extracti32x4_epi32(bytes, 1));
    if (output + 2 * count < outputs)
      _mm_mask_storeu_epi8(at + 2 * to_piece, some, _mm512_extracti32x4_epi32(bytes, 2));
    if (output + 3 * count < outputs)
      _mm_mask_storeu_epi8(at + 3 * to_piece, some, _mm512_extracti32x4_epi32(bytes, 3));
  }

  // Joins the accumulators of all channels, 16 bits each; packing undoes the interleaving.
  VERNIER_VNNI_INLINE __m512i plain(__m512i lower, __m512i upper) const {
    return _mm512_packus_epi16(_mm512_adds_epi16(lower, zero), _mm512_adds_epi16(upper, zero));
  }

  VERNIER_VNNI_INLINE __m512i packed(__m512i lower, __m512i upper) const {
    if (!is_signed) return _mm512_min_epu8(_mm512_max_epu8(plain(lower, upper), low), high);
    const __m512i bytes = _mm512_packs_epi16(_mm512_adds_epi16(lower, zero), _mm512_adds_epi16(upper, zero));
    return _mm512_min_epi8(_mm512_max_epi8(bytes, low), high);
  }
};

VERNIER_VNNI Storer storer_of(const Int8DepthwiseLines& p, const Part& part) {
  const PlainRequantization& result = p.result;
  const bool is_signed = result.type == ElementType::kInt8;
  return {part.mask(),
          part.pieces,
          part.count,
          p.outputs,
          part.count * p.to_pixel,
          p.to_pixel,
          p.to_row,
          p.to + part.channel,
          _mm512_set1_epi16(static_cast<int16_t>(result.zero_point)),
          _mm512_set1_epi8(static_cast<int8_t>(result.low)),
          _mm512_set1_epi8(static_cast<int8_t>(result.high)),
          is_signed};
}

// Vector `v` of the sums of kCount outputs of kRows lines; kQuads is 0 where they are any.
template <int64_t kRows, int64_t kCount, int64_t kWidth, int64_t kStride, int64_t kQuads>
VERNIER_VNNI_INLINE void sum(const Int8DepthwiseLines& p, const Int8DepthwiseWeights& weights,
                             const uint8_t* pixels, int64_t v, __m512i (&sums)[kRows * kCount]) {
  constexpr int64_t kColumns = (kCount - 1) * kStride + kWidth;
  const __m512i initial = _mm512_loadu_si512(weights.initial + v * 16);
#pragma GCC unroll 8
  for (int64_t i = 0; i < kRows * kCount; ++i) sums[i] = initial;
  const int8_t* taps = weights.taps + v * kVectorBytes;
  const int64_t quads = kQuads > 0 ? kQuads : p.quads, to_row = quads * kWidth * kColumnBytes;
#pragma GCC unroll 1
  for (int64_t quad = 0; quad < quads; ++quad) {
    __m512i x[kColumns];
#pragma GCC unroll 16
    for (int64_t i = 0; i < kColumns; ++i)
      x[i] = _mm512_load_si512(pixels + quad * kQuadBytes + i * kColumnBytes + v * kVectorBytes);
#pragma GCC unroll 8
    for (int64_t kx = 0; kx < kWidth; ++kx) {
#pragma GCC unroll 2
      for (int64_t row = 0; row < kRows; ++row) {
        const __m512i tap = _mm512_loadu_si512(taps + (quad * kWidth + kx) * kColumnBytes + row * to_row);
#pragma GCC unroll 4
        for (int64_t i = 0; i < kCount; ++i)
          sums[row * kCount + i] = _mm512_dpbusd_epi32(sums[row * kCount + i], x[i * kStride + kx], tap);
      }
    }
  }
  const __m512 scales = _mm512_loadu_ps(weights.scales + v * 16),
               offsets = _mm512_loadu_ps(weights.offsets + v * 16);
#pragma GCC unroll 8
  for (int64_t i = 0; i < kRows * kCount; ++i)
    sums[i] = _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[i]), scales, offsets));
}

// Outputs from x on, counted in the part. Where kQuads is known, what is stored is plain, too: all of them,
// bytes without a sign, not clamped, and not masked in one piece.
template <int64_t kRows, int64_t kCount, int64_t kWidth, int64_t kStride, int64_t kQuads>
VERNIER_VNNI_INLINE void outputs_at(const Int8DepthwiseLines& p, const Part& part,
                                    const Int8DepthwiseWeights& weights, const Storer& store,
                                    const uint8_t* columns, int64_t x) {
  constexpr int64_t kAll = kRows * kCount;
  const uint8_t* pixels = columns + x * kStride * kColumnBytes;
  __m512i packed[kVectors / 2][kAll];
#pragma GCC unroll 2
  for (int64_t half = 0; half < kVectors / 2; ++half) {
    __m512i even[kAll], odd[kAll];
    sum<kRows, kCount, kWidth, kStride, kQuads>(p, weights, pixels, 2 * half, even);
    sum<kRows, kCount, kWidth, kStride, kQuads>(p, weights, pixels, 2 * half + 1, odd);
#pragma GCC unroll 8
    for (int64_t i = 0; i < kAll; ++i) packed[half][i] = _mm512_packs_epi32(even[i], odd[i]);
  }
  const int64_t first = part.first + x, last = std::min(part.first + part.count, p.outputs);
#pragma GCC unroll 2
  for (int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kCount; ++i) {
      if (kQuads == 0 && first + i >= last) break;
      const __m512i a = packed[0][row * kCount + i], b = packed[1][row * kCount + i];
      if constexpr (kQuads > 0)
        store.pixels<false>(store.plain(a, b), row, first + i);
      else
        store.pixels<true>(store.packed(a, b), row, first + i);
    }
  }
}

template <int64_t kRows, int64_t kWidth, int64_t kStride, int64_t kQuads>
VERNIER_VNNI void outputs_by(const Int8DepthwiseLines& p, const Part& part, const uint8_t* columns) {
  const Storer store = storer_of(p, part);
  const Int8DepthwiseWeights weights{p.weights.taps + part.channel / kInt8Channels * p.to_block,
                                     p.weights.initial + part.channel, p.weights.scales + part.channel,
                                     p.weights.offsets + part.channel};
  const int64_t fours_end = part.count - part.threes * kFewer;
  for (int64_t x = 0; x < fours_end; x += kOutputs)
    outputs_at<kRows, kOutputs, kWidth, kStride, kQuads>(p, part, weights, store, columns, x);
  for (int64_t x = fours_end; x < part.count; x += kFewer)
    outputs_at<kRows, kFewer, kWidth, kStride, kQuads>(p, part, weights, store, columns, x);
}

template <int64_t kRows, int64_t kWidth, int64_t kStride>
void outputs_of(const Int8DepthwiseLines& p, const Part& part, const uint8_t* columns) {
  const PlainRequantization& result = p.result;
  const bool is_plain = (part.pieces > 1 || part.channels >= kInt8Channels) && part.is_whole() &&
                        part.first + part.count <= p.outputs && result.type == ElementType::kUint8 &&
                        result.low <= 0 && result.high >= 255;
  if (!is_plain) return outputs_by<kRows, kWidth, kStride, 0>(p, part, columns);
  p.quads == 1 ? outputs_by<kRows, kWidth, kStride, 1>(p, part, columns)
               : outputs_by<kRows, kWidth, kStride, 2>(p, part, columns);
}

template <int64_t kWidth, int64_t kStride>
void part_of(const Int8DepthwiseLines& p, const Part& part) {
  alignas(64) uint8_t columns[kMostLines / kQuad * kQuadBytes];
  const int64_t all = part.is_whole() ? part.count : (part.count + kOutputs - 1) / kOutputs * kOutputs,
                read = (all - 1) * kStride + kWidth;
  if (part.pieces == 1) interleave_any<1>(p, part, read, columns);
  if (part.pieces == 2) interleave_any<2>(p, part, read, columns);
  if (part.pieces == 4) interleave_any<4>(p, part, read, columns);
  if constexpr (kWidth < kMostWidth) {
    if (p.rows == 2) return outputs_of<2, kWidth, kStride>(p, part, columns);
  }
  outputs_of<1, kWidth, kStride>(p, part, columns);
}

template <int64_t kWidth, int64_t kStride>
void lines_of(const Int8DepthwiseLines& p) {
  constexpr int64_t kMost = ((kMostColumns - kWidth) / kStride + 1) / kOutputs * kOutputs;
  for (int64_t channel = 0; channel < p.channels; channel += kInt8Channels) {
    const int64_t channels = p.channels - channel, pieces = int8_pieces(channels);
    int64_t count = (p.outputs + pieces - 1) / pieces;
    if (count > kMost) {
      const int64_t parts = (count + kMost - 1) / kMost;
      count = (count + parts - 1) / parts;
    }
    const int64_t missing = (kOutputs - count % kOutputs) % kOutputs,
                  threes = missing * kFewer <= count ? missing : 0;
    for (int64_t first = 0; first < p.outputs; first += pieces * count)
      part_of<kWidth, kStride>(p, {first, count, channel, channels, pieces, threes});
  }
}

using LinesOf = void (*)(const Int8DepthwiseLines&);

LinesOf find(int64_t kernel_width, int64_t stride) {
  switch (kernel_width * 10 + stride) {
    case 31: return lines_of<3, 1>;
    case 32: return lines_of<3, 2>;
    case 51: return lines_of<5, 1>;
    case 52: return lines_of<5, 2>;
    case 71: return lines_of<7, 1>;
    case 72: return lines_of<7, 2>;
    default: return nullptr;
  }
}

}  // namespace

bool has_int8_depthwise(int64_t kernel_width, int64_t stride) {
  return has(Feature::kVnni) && stride < 10 && find(kernel_width, stride) != nullptr;
}

int64_t int8_depthwise_rows(int64_t kernel_height, int64_t kernel_width, int64_t stride_of_lines) {
  const int64_t lines = (kernel_height + kQuad - 1) / kQuad * kQuad;
  return kernel_width < kMostWidth && kernel_height + stride_of_lines <= lines ? 2 : 1;
}

void int8_depthwise_lines(const Int8DepthwiseLines& lines) {
  find(lines.kernel_width, lines.stride)(lines);
}

}  // namespace vernier::cpu
