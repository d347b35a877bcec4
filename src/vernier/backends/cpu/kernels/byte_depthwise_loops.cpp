#include "vernier/backends/cpu/kernels/byte_depthwise_loops.h"

#include <immintrin.h>

#include <algorithm>
#include <utility>

// g++ 12 takes the undefined vectors of its own header for a mistake of ours.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define VERNIER_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#ifdef VERNIER_SANITIZED  // whose checks, all in one function, take minutes to compile
#define VERNIER_VNNI_INLINE VERNIER_VNNI inline
#else
#define VERNIER_VNNI_INLINE VERNIER_VNNI __attribute__((always_inline)) inline
#endif

namespace vernier::cpu {

namespace {

constexpr int64_t kVectors = 4, kVectorBytes = 64;
constexpr int64_t kOutputs = 4;     // at a time
constexpr int64_t kPlainLines = 3;  // and columns, of common windows

// Four registers of numbers: of 64 channels.
struct Sums {
  __m512i of[kVectors];
};

// What is known when a line is compiled: fewer instructions are left of the common cases.
enum class Kind : uint8_t {
  kAny,
  kInside,        // all columns are inside the image
  kPlain,         // and unsigned bytes of 64 channels, of two or three lines, become such within no bounds
  kEdge,          // the same, but the first and the last column may be beyond the image
  kHalves,        // as kPlain of 32 channels: the upper halves of registers are outputs farther on
  kMaskedHalves,  // of fewer channels
};
constexpr bool is_inside(Kind kind) {
  return kind != Kind::kAny && kind != Kind::kEdge;
}
constexpr bool is_halves(Kind kind) {
  return kind == Kind::kHalves || kind == Kind::kMaskedHalves;
}
constexpr bool is_plain(Kind kind) {
  return kind == Kind::kPlain || kind == Kind::kEdge || is_halves(kind);
}

// What all outputs of a line need. Those that use it have a copy of their own: stored bytes might be any of
// its numbers.
struct Common {
  const ByteDepthwiseLine& p;
  __mmask64 mask;  // of the channels that are there
  __m512i padding, flip, zero;
  ByteDepthwiseWeights weights;
  uint8_t* to;
  int64_t to_pixel;
};

template <Kind kKind>
VERNIER_VNNI_INLINE __m512i load_pixel(const Common& c, const uint8_t* at, int64_t to_upper) {
  if constexpr (is_halves(kKind)) {
    const __mmask32 mask = kKind == Kind::kHalves ? ~__mmask32{0} : static_cast<__mmask32>(c.mask);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(mask, at)),
                              _mm256_maskz_loadu_epi8(mask, at + to_upper), 1);
  }
  if constexpr (is_plain(kKind)) return _mm512_loadu_si512(at);
  return _mm512_xor_si512(_mm512_maskz_loadu_epi8(c.mask, at), c.flip);
}

// A pixel of each of a quad's lines, channel by channel; `at` are null for a column beyond the image.
template <Kind kKind, int64_t kLines, int64_t kUpper>
VERNIER_VNNI_INLINE void load_column(const Common& c, const uint8_t* const* at, const int64_t* steps,
                                     __m512i* quads) {
  __m512i x[kQuad];
  for (int64_t i = 0; i < kQuad; ++i) {
    x[i] = c.padding;
    if (i < kLines && at != nullptr) x[i] = load_pixel<kKind>(c, at[i], kUpper * steps[i]);
  }
  const __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]),
                d = _mm512_unpacklo_epi8(x[2], x[3]), e = _mm512_unpackhi_epi8(x[2], x[3]);
  quads[0] = _mm512_unpacklo_epi16(a, d);
  quads[1] = _mm512_unpackhi_epi16(a, d);
  quads[2] = _mm512_unpacklo_epi16(b, e);
  quads[3] = _mm512_unpackhi_epi16(b, e);
}

// Sums become what they are rounded to.
template <int64_t kCount>
VERNIER_VNNI_INLINE void round_all(const Common& c, Sums (&sums)[kCount]) {
  for (int64_t v = 0; v < kVectors; ++v) {
    const __m512 scales = _mm512_loadu_ps(c.weights.scales + v * 16),
                 offsets = _mm512_loadu_ps(c.weights.offsets + v * 16);
    for (int64_t i = 0; i < kCount; ++i)
      sums[i].of[v] = _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[i].of[v]), scales, offsets));
  }
}

template <Kind kKind>
VERNIER_VNNI_INLINE void store(const Common& c, const Sums& sums, uint8_t* to) {
  // Packing undoes the interleaving.
  const __m512i a = _mm512_adds_epi16(_mm512_packs_epi32(sums.of[0], sums.of[1]), c.zero),
                b = _mm512_adds_epi16(_mm512_packs_epi32(sums.of[2], sums.of[3]), c.zero);
  if constexpr (is_plain(kKind)) {
    const __m512i bytes = _mm512_packus_epi16(a, b);
    if constexpr (!is_halves(kKind)) return _mm512_storeu_si512(to, bytes);
    const __mmask32 mask = kKind == Kind::kHalves ? ~__mmask32{0} : static_cast<__mmask32>(c.mask);
    _mm256_mask_storeu_epi8(to, mask, _mm512_castsi512_si256(bytes));
    _mm256_mask_storeu_epi8(to + kOutputs * c.to_pixel, mask, _mm512_extracti64x4_epi64(bytes, 1));
  } else {
    const PlainRequantisation& result = c.p.result;
    const __m512i low = _mm512_set1_epi8(static_cast<int8_t>(result.low)),
                  high = _mm512_set1_epi8(static_cast<int8_t>(result.high));
    const __m512i bytes = result.type == ElementType::kInt8
                              ? _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(a, b), low), high)
                              : _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b), low), high);
    _mm512_mask_storeu_epi8(to, c.mask, bytes);
  }
}

// What the windows of some outputs have in common.
template <int64_t kCount, int64_t kWidth, int64_t kStride>
struct Windows {
  static constexpr int64_t kColumns = (kCount - 1) * kStride + kWidth, kUpper = kOutputs * kStride;
  int64_t first;  // column of the image
  Sums sums[kCount];
};

// A column of the image, to the windows that it is in.
template <Kind kKind, int64_t kLines, int64_t kColumn, int64_t kCount, int64_t kWidth, int64_t kStride>
VERNIER_VNNI_INLINE void add_column(const Common& c, const uint8_t** at, const int64_t* steps,
                                    const int8_t* taps, Windows<kCount, kWidth, kStride>& windows) {
  using All = Windows<kCount, kWidth, kStride>;
  const int64_t column = windows.first + kColumn;
  __m512i bytes[kVectors];
  constexpr bool kIsInside =
      is_inside(kKind) || (kKind == Kind::kEdge && kColumn > 0 && kColumn < All::kColumns - 1);
  const bool is_there = kIsInside || (column >= 0 && column < c.p.input_width);
  load_column<kKind, kLines, All::kUpper>(c, is_there ? at : nullptr, steps, bytes);
  for (int64_t i = 0; i < kLines; ++i) at[i] += steps[i];
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t kx = kColumn - i * kStride;
    if (kx < 0 || kx >= kWidth) continue;
    for (int64_t v = 0; v < kVectors; ++v)
      windows.sums[i].of[v] = _mm512_dpbusd_epi32(
          windows.sums[i].of[v], bytes[v], _mm512_loadu_si512(taps + (kx * kVectors + v) * kVectorBytes));
  }
}

template <Kind kKind, int64_t kLines, class Windows, int64_t... kColumns>
VERNIER_VNNI_INLINE void add_quad(const Common& c, int64_t quad, Windows& windows,
                                  std::integer_sequence<int64_t, kColumns...> /*all*/) {
  const uint8_t* at[kQuad];
  const int64_t* steps = c.p.steps.data() + quad * kQuad;
  for (int64_t i = 0; i < kLines; ++i)
    at[i] = c.p.lines[static_cast<size_t>(quad * kQuad + i)] + windows.first * steps[i];
  const int8_t* taps = c.weights.taps + quad * c.p.kernel_width * kVectors * kVectorBytes;
  (add_column<kKind, kLines, kColumns>(c, at, steps, taps, windows), ...);
}

// Outputs from x on: what interleaving a column costs serves all windows that it is in.
template <Kind kKind, int64_t kCount, int64_t kWidth, int64_t kStride>
VERNIER_VNNI_INLINE void outputs_from(const Common& c, int64_t x) {
  const ByteDepthwiseLine& p = c.p;
  Windows<kCount, kWidth, kStride> windows;
  constexpr std::make_integer_sequence<int64_t, windows.kColumns> kAll;
  windows.first = x * kStride - p.pad;
  for (Sums& sums : windows.sums) {
    for (int64_t v = 0; v < kVectors; ++v) sums.of[v] = _mm512_loadu_si512(c.weights.starts + v * 16);
  }
  if constexpr (is_plain(kKind)) {
    add_quad<kKind, kPlainLines>(c, 0, windows, kAll);
  } else {
    for (int64_t quad = 0; quad < p.quads; ++quad) {
      const int64_t lines = p.kernel_height - quad * kQuad;
      if (lines >= kQuad)
        add_quad<kKind, kQuad>(c, quad, windows, kAll);
      else if (lines > 1)
        add_quad<kKind, 3>(c, quad, windows, kAll);
      else
        add_quad<kKind, 1>(c, quad, windows, kAll);
    }
  }
  round_all(c, windows.sums);
  for (int64_t i = 0; i < kCount; ++i) store<kKind>(c, windows.sums[i], c.to + (x + i) * c.to_pixel);
}

// Outputs of [first, last), and perhaps some before them, of which none ends at `end` or later.
template <Kind kKind, int64_t kWidth, int64_t kStride>
VERNIER_VNNI void outputs_between(const Common& common, int64_t first, int64_t last, int64_t end) {
  const Common c = common;
  constexpr int64_t kCount = is_halves(kKind) ? 2 * kOutputs : kOutputs;
  for (int64_t x = first; x < last; x += kCount)
    outputs_from<kKind, kOutputs, kWidth, kStride>(c, std::min(x, end - kCount));
}

using Between = void (*)(const Common&, int64_t, int64_t, int64_t);

// Of outputs at the edges, and of those inside, of which there are so many.
struct LineParts {
  Between edges, inside;
};

template <int64_t kWidth, int64_t kStride>
LineParts parts_of(const ByteDepthwiseLine& p, int64_t inside) {
  LineParts parts{outputs_between<Kind::kAny, kWidth, kStride>,
                  outputs_between<Kind::kInside, kWidth, kStride>};
  if constexpr (kWidth == kPlainLines) {
    const PlainRequantisation& result = p.result;
    if (p.kernel_height < 2 || p.kernel_height > kPlainLines || p.is_signed ||
        result.type != ElementType::kUint8 || result.low > 0 || result.high < 255)
      return parts;
    const int64_t pad_end = (p.outputs - 1) * kStride - p.pad + kWidth - p.input_width;
    if (p.channels >= kByteChannels) {
      parts.inside = outputs_between<Kind::kPlain, kWidth, kStride>;
      if (p.pad <= 1 && pad_end <= 1) parts.edges = outputs_between<Kind::kEdge, kWidth, kStride>;
    } else if (p.channels <= kByteChannels / 2 && inside >= 2 * kOutputs) {
      parts.inside = p.channels == kByteChannels / 2 ? outputs_between<Kind::kHalves, kWidth, kStride>
                                                     : outputs_between<Kind::kMaskedHalves, kWidth, kStride>;
    }
  }
  return parts;
}

template <int64_t kWidth, int64_t kStride>
VERNIER_VNNI void line_of(const ByteDepthwiseLine& p) {
  const auto mask = p.channels >= kByteChannels ? ~uint64_t{0} : (uint64_t{1} << p.channels) - 1;
  const auto flip = static_cast<int8_t>(p.is_signed ? 0x80 : 0);
  const Common common{p,
                      mask,
                      _mm512_set1_epi8(static_cast<int8_t>(p.padding ^ static_cast<uint8_t>(flip))),
                      _mm512_set1_epi8(flip),
                      _mm512_set1_epi16(static_cast<int16_t>(p.result.zero_point)),
                      p.weights,
                      p.to,
                      p.to_pixel};
  if (p.outputs < kOutputs) {
    for (int64_t x = 0; x < p.outputs; ++x) outputs_from<Kind::kAny, 1, kWidth, kStride>(common, x);
    return;
  }
  // The outputs whose windows are inside, if they are as many as are computed at a time.
  const int64_t reach = p.input_width + p.pad - kWidth;
  int64_t first = std::min((p.pad + kStride - 1) / kStride, p.outputs),
          last = std::clamp(reach < 0 ? 0 : reach / kStride + 1, first, p.outputs);
  if (last - first < kOutputs) first = last = p.outputs;
  const LineParts parts = parts_of<kWidth, kStride>(p, last - first);
  parts.edges(common, 0, first, p.outputs);
  if (first == last) return;
  // Edges compute outputs beyond themselves, too.
  parts.inside(common, (first + kOutputs - 1) / kOutputs * kOutputs,
               last < p.outputs ? std::min(last, p.outputs - kOutputs) : last, last);
  parts.edges(common, last, p.outputs, p.outputs);
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
