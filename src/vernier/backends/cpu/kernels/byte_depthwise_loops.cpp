#include "vernier/backends/cpu/kernels/byte_depthwise_loops.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

#define VERNIER_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#ifdef VERNIER_SANITIZED  // whose checks, all in one function, take minutes to compile
#define VERNIER_VNNI_INLINE VERNIER_VNNI inline
#else
#define VERNIER_VNNI_INLINE VERNIER_VNNI __attribute__((always_inline)) inline
#endif

namespace vernier::cpu {

namespace {

constexpr int64_t kVectors = 4, kVectorBytes = 64;

// Four registers of numbers: of 64 channels.
struct Sums {
  __m512i of[kVectors];
};

// What all outputs of a line need.
struct Common {
  const ByteDepthwiseLine& p;
  __mmask64 mask;  // of the channels that are there
  __m512i padding, flip;
};

// A pixel of each of a quad's lines, channel by channel; `at` are null for a column beyond the image.
template <int64_t kLines>
VERNIER_VNNI_INLINE void load_column(const Common& c, const uint8_t* const* at, __m512i* quads) {
  __m512i x[kQuad];
  for (int64_t i = 0; i < kQuad; ++i) {
    x[i] = c.padding;
    if (i < kLines && at != nullptr) x[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(c.mask, at[i]), c.flip);
  }
  const __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]),
                d = _mm512_unpacklo_epi8(x[2], x[3]), e = _mm512_unpackhi_epi8(x[2], x[3]);
  quads[0] = _mm512_unpacklo_epi16(a, d);
  quads[1] = _mm512_unpackhi_epi16(a, d);
  quads[2] = _mm512_unpacklo_epi16(b, e);
  quads[3] = _mm512_unpackhi_epi16(b, e);
}

VERNIER_VNNI_INLINE __m512i rounded(const Common& c, const Sums& sums, int64_t i) {
  constexpr __mmask16 kAll = 0xFFFF;  // g++ 12 warns of what conversions without masks leave undefined
  const __m512 scales = _mm512_loadu_ps(c.p.weights.scales + i * 16),
               offsets = _mm512_loadu_ps(c.p.weights.offsets + i * 16);
  const __m512 reals = _mm512_maskz_cvtepi32_ps(kAll, sums.of[i]);
  return _mm512_maskz_cvtps_epi32(kAll, _mm512_fmadd_ps(reals, scales, offsets));
}

VERNIER_VNNI_INLINE void store(const Common& c, const Sums& sums, uint8_t* to) {
  const PlainRequantisation& result = c.p.result;
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(result.zero_point)),
                low = _mm512_set1_epi8(static_cast<int8_t>(result.low)),
                high = _mm512_set1_epi8(static_cast<int8_t>(result.high));
  // Packing undoes the interleaving.
  const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(rounded(c, sums, 0), rounded(c, sums, 1)), zero),
                b = _mm512_adds_epi16(_mm512_packs_epi32(rounded(c, sums, 2), rounded(c, sums, 3)), zero);
  const __m512i bytes = result.type == ElementType::kInt8
                            ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(a, b), low), high)
                            : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), low), high);
  _mm512_mask_storeu_epi8(to, c.mask, bytes);
}

// What the windows of some outputs have in common.
template <int64_t kCount, int64_t kWidth, int64_t kStride>
struct Windows {
  static constexpr int64_t kColumns = (kCount - 1) * kStride + kWidth;
  int64_t first;  // column of the image
  Sums sums[kCount];
};

// A column of the image, to the windows that it is in. kInside: so are all columns.
template <int64_t kLines, bool kInside, int64_t kColumn, int64_t kCount, int64_t kWidth, int64_t kStride>
VERNIER_VNNI_INLINE void add_column(const Common& c, const uint8_t** at, const int64_t* steps,
                                    const int8_t* taps, Windows<kCount, kWidth, kStride>& windows) {
  const int64_t column = windows.first + kColumn;
  __m512i bytes[kVectors];
  load_column<kLines>(c, kInside || (column >= 0 && column < c.p.input_width) ? at : nullptr, bytes);
  for (int64_t i = 0; i < kLines; ++i) at[i] += steps[i];
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t kx = kColumn - i * kStride;
    if (kx < 0 || kx >= kWidth) continue;
    for (int64_t v = 0; v < kVectors; ++v)
      windows.sums[i].of[v] = _mm512_dpbusd_epi32(
          windows.sums[i].of[v], bytes[v], _mm512_loadu_si512(taps + (kx * kVectors + v) * kVectorBytes));
  }
}

template <int64_t kLines, bool kInside, class Windows, int64_t... kColumns>
VERNIER_VNNI_INLINE void add_quad(const Common& c, int64_t quad, Windows& windows,
                                  std::integer_sequence<int64_t, kColumns...> /*all*/) {
  const uint8_t* at[kQuad];
  const int64_t* steps = c.p.steps.data() + quad * kQuad;
  for (int64_t i = 0; i < kLines; ++i)
    at[i] = c.p.lines[static_cast<size_t>(quad * kQuad + i)] + windows.first * steps[i];
  const int8_t* taps = c.p.weights.taps + quad * c.p.kernel_width * kVectors * kVectorBytes;
  (add_column<kLines, kInside, kColumns>(c, at, steps, taps, windows), ...);
}

// Outputs from x on: what interleaving a column costs serves all windows that it is in.
template <bool kInside, int64_t kCount, int64_t kWidth, int64_t kStride>
VERNIER_VNNI_INLINE void outputs_from(const Common& c, int64_t x) {
  const ByteDepthwiseLine& p = c.p;
  Windows<kCount, kWidth, kStride> windows;
  constexpr std::make_integer_sequence<int64_t, windows.kColumns> kAll;
  windows.first = x * kStride - p.pad;
  for (Sums& sums : windows.sums) {
    for (int64_t v = 0; v < kVectors; ++v) sums.of[v] = _mm512_loadu_si512(p.weights.starts + v * 16);
  }
  for (int64_t quad = 0; quad < p.quads; ++quad) {
    const int64_t lines = p.kernel_height - quad * kQuad;
    if (lines >= kQuad)
      add_quad<kQuad, kInside>(c, quad, windows, kAll);
    else if (lines > 1)
      add_quad<3, kInside>(c, quad, windows, kAll);
    else
      add_quad<1, kInside>(c, quad, windows, kAll);
  }
  for (int64_t i = 0; i < kCount; ++i) store(c, windows.sums[i], p.to + (x + i) * p.to_pixel);
}

template <int64_t kWidth, int64_t kStride>
VERNIER_VNNI void line_of(const ByteDepthwiseLine& p) {
  constexpr int64_t kOutputs = 4;
  const auto mask = p.channels >= kByteChannels ? ~uint64_t{0} : (uint64_t{1} << p.channels) - 1;
  const auto flip = static_cast<int8_t>(p.is_signed ? 0x80 : 0);
  const Common common{p, mask, _mm512_set1_epi8(static_cast<int8_t>(p.padding ^ static_cast<uint8_t>(flip))),
                      _mm512_set1_epi8(flip)};
  // The outputs whose windows are inside.
  const int64_t begin = (p.pad + kStride - 1) / kStride;
  const int64_t reach = p.input_width + p.pad - kWidth, end = reach < 0 ? 0 : reach / kStride + 1;
  if (p.outputs < kOutputs) {
    for (int64_t x = 0; x < p.outputs; ++x) outputs_from<false, 1, kWidth, kStride>(common, x);
    return;
  }
  for (int64_t next = 0; next < p.outputs; next += kOutputs) {
    const int64_t x = std::min(next, p.outputs - kOutputs);  // the last ones may be computed twice
    if (x >= begin && x + kOutputs <= end)
      outputs_from<true, kOutputs, kWidth, kStride>(common, x);
    else
      outputs_from<false, kOutputs, kWidth, kStride>(common, x);
  }
}

using LineOf = void (*)(const ByteDepthwiseLine&);

LineOf find(int64_t kernel_width, int64_t stride) {
  switch (kernel_width * 10 + stride) {
    case 31: return line_of<3, 1>;
    case 32: return line_of<3, 2>;
    case 51: return line_of<5, 1>;
    case 52: return line_of<5, 2>;
    case 71: return line_of<7, 1>;
    case 72: return line_of<7, 2>;
    default: return nullptr;
  }
}

}  // namespace

bool has_byte_depthwise(int64_t kernel_width, int64_t stride) {
  static const bool has = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl");
  return has && stride < 10 && find(kernel_width, stride) != nullptr;
}

void byte_depthwise_line(const ByteDepthwiseLine& line) {
  find(line.kernel_width, line.stride)(line);
}

}  // namespace vernier::cpu
