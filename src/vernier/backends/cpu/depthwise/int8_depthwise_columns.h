// Pixels of int8 as int8_depthwise_loops.h multiplies them: those of four lines side by side.
#pragma once

#include <algorithm>

#include "vernier/backends/cpu/depthwise/int8_depthwise_loops.h"
#include "vernier/backends/cpu/vector_instructions.h"

#define VERNIER_VNNI VERNIER_TARGET("avx512f,avx512bw,avx512vl,avx512vnni")
#ifdef VERNIER_SANITIZED  // whose checks, all in one function, take minutes to compile
#define VERNIER_VNNI_INLINE VERNIER_VNNI inline
#else
#define VERNIER_VNNI_INLINE VERNIER_VNNI __attribute__((always_inline)) inline
#endif

namespace vernier::cpu::int8_columns {

inline constexpr int64_t kVectors = 4, kVectorBytes = 64, kColumnBytes = kVectors * kVectorBytes;
inline constexpr int64_t kMostColumns = 64;  // of an image at a time, so that they stay in the first cache
inline constexpr int64_t kQuadBytes = kMostColumns * kColumnBytes;
inline constexpr int64_t kOutputs = 4, kFewer = kOutputs - 1;  // at a time

// Some outputs of a block of channels: piece i of registers has those from first + i * count on.
struct Part {
  int64_t first, count;
  int64_t channel, channels;  // the first one, and how many from there
  int64_t pieces;
  int64_t threes;  // of `count`, the last 3 * threes outputs are computed by three, others by four

  bool is_whole() const { return (count - threes * kFewer) % kOutputs == 0; }
  __mmask64 mask() const { return channels >= kInt8Channels ? ~uint64_t{0} : (uint64_t{1} << channels) - 1; }
};

// Four lines of the image, at a column, and what loading pixels needs.
template <int64_t kPieces, bool kSigned>
struct Loader {
  const uint8_t *line0, *line1, *line2, *line3;
  int64_t step0, step1, step2, step3;
  int64_t width, to_piece;  // columns: of the image, and from a piece to the next
  __mmask64 mask;           // of the channels of a piece that are there
  __m512i padding, flip;

  template <bool kInside>
  VERNIER_VNNI_INLINE __m128i quarter(const uint8_t* line, int64_t step, int64_t column) const {
    if (!kInside && (column < 0 || column >= width)) return _mm512_castsi512_si128(padding);
    return _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), line + column * step);
  }

  template <bool kInside>
  VERNIER_VNNI_INLINE __m256i half(const uint8_t* line, int64_t step, int64_t column) const {
    if (!kInside && (column < 0 || column >= width)) return _mm512_castsi512_si256(padding);
    return _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), line + column * step);
  }

  template <bool kInside>
  VERNIER_VNNI_INLINE __m512i pixels(const uint8_t* line, int64_t step, int64_t column) const {
    if constexpr (kPieces == 1) {
      if (!kInside && (column < 0 || column >= width)) return padding;
      return _mm512_maskz_loadu_epi8(mask, line + column * step);
    } else if constexpr (kPieces == 2) {
      return _mm512_inserti64x4(_mm512_castsi256_si512(half<kInside>(line, step, column)),
                                half<kInside>(line, step, column + to_piece), 1);
    } else {
      __m512i all = _mm512_castsi128_si512(quarter<kInside>(line, step, column));
      all = _mm512_inserti32x4(all, quarter<kInside>(line, step, column + to_piece), 1);
      all = _mm512_inserti32x4(all, quarter<kInside>(line, step, column + 2 * to_piece), 2);
      return _mm512_inserti32x4(all, quarter<kInside>(line, step, column + 3 * to_piece), 3);
    }
  }

  template <bool kInside>
  VERNIER_VNNI_INLINE __m512i unsigned_pixels(const uint8_t* line, int64_t step, int64_t column) const {
    const __m512i x = pixels<kInside>(line, step, column);
    return kSigned ? _mm512_xor_si512(x, flip) : x;
  }

  // Interleaves the lines: the four values of a channel become neighbours.
  template <bool kInside>
  VERNIER_VNNI_INLINE void interleave(int64_t column, uint8_t* to) const {
    const __m512i x0 = unsigned_pixels<kInside>(line0, step0, column),
                  x1 = unsigned_pixels<kInside>(line1, step1, column),
                  x2 = unsigned_pixels<kInside>(line2, step2, column),
                  x3 = unsigned_pixels<kInside>(line3, step3, column);
    const __m512i a = _mm512_unpacklo_epi8(x0, x1), b = _mm512_unpackhi_epi8(x0, x1),
                  c = _mm512_unpacklo_epi8(x2, x3), d = _mm512_unpackhi_epi8(x2, x3);
    _mm512_store_si512(to, _mm512_unpacklo_epi16(a, c));
    _mm512_store_si512(to + kVectorBytes, _mm512_unpackhi_epi16(a, c));
    _mm512_store_si512(to + 2 * kVectorBytes, _mm512_unpacklo_epi16(b, d));
    _mm512_store_si512(to + 3 * kVectorBytes, _mm512_unpackhi_epi16(b, d));
  }
};

// Columns of the image as products need them. All lines of outputs, and all windows that a column is in,
// read them then.
template <int64_t kPieces, bool kSigned>
VERNIER_VNNI inline void interleave(const Int8DepthwiseLines& p, const Part& part, int64_t columns,
                                    uint8_t* to) {
  const auto flip = static_cast<int8_t>(kSigned ? 0x80 : 0);
  for (int64_t quad = 0; quad < p.quads; ++quad) {
    const uint8_t* const* lines = p.lines.data() + quad * kQuad;
    const int64_t* steps = p.steps.data() + quad * kQuad;
    const auto line = [&](int64_t i) { return lines[i] + (steps[i] > 0 ? part.channel : 0); };
    const Loader<kPieces, kSigned> from{line(0),
                                        line(1),
                                        line(2),
                                        line(3),
                                        steps[0],
                                        steps[1],
                                        steps[2],
                                        steps[3],
                                        p.input_width,
                                        part.count * p.stride,
                                        part.mask(),
                                        _mm512_set1_epi8(static_cast<int8_t>(p.padding)),
                                        _mm512_set1_epi8(flip)};
    uint8_t* at = to + quad * kQuadBytes;
    const int64_t first = part.first * p.stride - p.pad, last = first + columns;
    // Columns of which all pieces are inside the image.
    const int64_t begin = std::clamp<int64_t>(0, first, last),
                  end = std::clamp(p.input_width - (kPieces - 1) * from.to_piece, begin, last);
    int64_t column = first;
    for (; column < begin; ++column, at += kColumnBytes) from.template interleave<false>(column, at);
    for (; column < end; ++column, at += kColumnBytes) from.template interleave<true>(column, at);
    for (; column < last; ++column, at += kColumnBytes) from.template interleave<false>(column, at);
  }
}

template <int64_t kPieces>
void interleave_any(const Int8DepthwiseLines& p, const Part& part, int64_t columns, uint8_t* to) {
  p.is_signed ? interleave<kPieces, true>(p, part, columns, to)
              : interleave<kPieces, false>(p, part, columns, to);
}

}  // namespace vernier::cpu::int8_columns
