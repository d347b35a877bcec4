#include "vernier/backends/cpu/attention/bf16_weights.h"

#include "vernier/backends/cpu/attention/attention_loops.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/vectors/bf16_vectors.h"

namespace vernier::cpu {

namespace {
constexpr int64_t kLanes = 16;
constexpr __mmask16 kAllLanes = 0xFFFF;
constexpr float kLog2OfE = 1.44269504F;
constexpr float kLarge = 1e30F;  // times log2(e), what is larger may be no float

// Masks those lanes, at places from `at` on, that lie in [first, last).
VERNIER_AVX512 inline __mmask16 lanes_in(int64_t first, int64_t last, int64_t at) {
  const auto below_first = (uint32_t{1} << std::clamp<int64_t>(first - at, 0, kLanes)) - 1,
             below_last = (uint32_t{1} << std::clamp<int64_t>(last - at, 0, kLanes)) - 1;
  return static_cast<__mmask16>(below_last & ~below_first);
}

// The largest, of which a NaN may be left out.
VERNIER_AVX512 float largest_score(const float* scores, int64_t count) {
  const __m512 least = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 even = least, odd = least;
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    even = _mm512_max_ps(even, _mm512_loadu_ps(scores + i));
    odd = _mm512_max_ps(odd, _mm512_loadu_ps(scores + i + kLanes));
  }
  for (; i < count; i += kLanes)
    even = _mm512_max_ps(even, _mm512_mask_loadu_ps(least, lanes_in(0, count, i), scores + i));
  return _mm512_reduce_max_ps(_mm512_max_ps(even, odd));
}

// The same of scores * scale + mask, which the scores become.
VERNIER_AVX512 float largest_masked(float* scores, int64_t count, float scale, const uint16_t* mask) {
  const __m512 times = _mm512_set1_ps(scale);
  __m512 top = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < count; i += kLanes) {
    const __mmask16 lanes = i + kLanes <= count ? kAllLanes : lanes_in(0, count, i);
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, mask + i));
    const __m512 bias = _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    const __m512 x = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(lanes, scores + i), times, bias);
    _mm512_mask_storeu_ps(scores + i, lanes, x);
    top = _mm512_mask_max_ps(top, lanes, top, x);
  }
  return _mm512_reduce_max_ps(top);
}

// Turns scores x into exp(x * scale - top).
template <bool kIsLarge>
struct Weighing {
  __m512 scale, top;

  VERNIER_AVX512 inline Weighing(float scale, float top)
      : scale(_mm512_set1_ps(kIsLarge ? scale : scale * kLog2OfE)),
        top(_mm512_set1_ps(kIsLarge ? top : top * kLog2OfE)) {}
  VERNIER_AVX512 inline __m512 of(__m512 x) const {
    const __m512 power = _mm512_fmsub_ps(x, scale, top);
    return power_of_two(kIsLarge ? _mm512_mul_ps(power, _mm512_set1_ps(kLog2OfE)) : power);
  }
  // Gives the weights of the scores that count; the others' are 0.
  VERNIER_AVX512 inline __m512 of(const float* x, __mmask16 lanes) const {
    if (lanes == 0) return _mm512_setzero_ps();
    return _mm512_maskz_mov_ps(lanes, of(_mm512_maskz_loadu_ps(lanes, x)));
  }
};

VERNIER_AVX512 inline void store_weights(__m512 first, __m512 second, uint16_t* to) {
  const __m512bh narrow = _mm512_cvtne2ps_pbh(second, first);
  _mm512_storeu_si512(to, reinterpret_cast<const __m512i&>(narrow));
}

// Weights of the keys in `span`, and 0 of the others up to a whole chunk; gives their sum.
template <bool kIsLarge>
VERNIER_AVX512 float make_weights(const float* scores, const KeyRange& span, int64_t keys,
                                  const Weighing<kIsLarge> weighing, uint16_t* to, int64_t chunk) {
  __m512 even = _mm512_setzero_ps(), odd = even;
  for (int64_t key = 0; key < keys; key += kChunk, to += chunk) {
    __m512 first, second;
    if (key >= span.first && key + kChunk <= span.last) {
      first = weighing.of(_mm512_loadu_ps(scores + key));
      second = weighing.of(_mm512_loadu_ps(scores + key + kLanes));
    } else {
      first = weighing.of(scores + key, lanes_in(span.first, span.last, key));
      second = weighing.of(scores + key + kLanes, lanes_in(span.first, span.last, key + kLanes));
    }
    even = _mm512_add_ps(even, first);
    odd = _mm512_add_ps(odd, second);
    store_weights(first, second, to);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(even, odd));
}

// Scores times `scale`, of which `top` is the largest.
struct RowScores {
  const float* scores;
  KeyRange span;
  float scale, top;
};

VERNIER_AVX512 float make_weights(const RowScores& row, int64_t keys, uint16_t* to, int64_t chunk) {
  if (std::max(std::abs(row.top), std::abs(row.scale)) < kLarge)
    return make_weights<false>(row.scores, row.span, keys, {row.scale, row.top}, to, chunk);
  return make_weights<true>(row.scores, row.span, keys, {row.scale, row.top}, to, chunk);
}

// y = x * factor.
VERNIER_AVX512 void scale_row(const float* x, int64_t count, float factor, uint16_t* y) {
  const __m512 times = _mm512_set1_ps(factor);
  const auto halves_of = [&](__m512 first, __m512 second) VERNIER_AVX512 {
    const __m512bh narrow = _mm512_cvtne2ps_pbh(_mm512_mul_ps(second, times), _mm512_mul_ps(first, times));
    return reinterpret_cast<const __m512i&>(narrow);
  };
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes)
    _mm512_storeu_si512(y + i, halves_of(_mm512_loadu_ps(x + i), _mm512_loadu_ps(x + i + kLanes)));
  if (i == count) return;
  const __m512 first = _mm512_maskz_loadu_ps(lanes_in(0, count, i), x + i),
               second = _mm512_maskz_loadu_ps(lanes_in(0, count, i + kLanes), x + i + kLanes);
  _mm512_mask_storeu_epi16(y + i, first_bf16(count - i), halves_of(first, second));
}

}  // namespace

Bf16Weights::Bf16Weights(const AttentionPlan& plan) : plan_(plan), weights_(plan), edit_(Edit::kAny) {
  if (plan.softcap != 0 || plan.padding.input >= 0) return;
  if (plan.mask.input < 0 && plan.scale > 0) edit_ = Edit::kScale;
  if (plan.mask.input >= 0 && plan.mask.element == ElementType::kBFloat16 && plan.mask.strides[3] != 0)
    edit_ = Edit::kMask;
}

float Bf16Weights::finish(const KernelArguments& arguments, const ScorePlace& place, int64_t keys,
                          float* scores, float* buffer, float& scale) const {
  float largest = 0;
  scale = 1;
  if (edit_ == Edit::kScale) {
    scale = plan_.scale;
    largest = largest_score(scores, keys) * scale;
  } else if (edit_ == Edit::kMask) {
    const auto* mask = static_cast<const uint16_t*>(arguments.inputs[plan_.mask.input]);
    largest = largest_masked(scores, keys, plan_.scale, mask + weights_.bias().mask_at(place));
  } else {
    largest = weights_.bias().finish(arguments, place, keys, scores, buffer);
  }
  if (std::isfinite(largest)) return largest;  // a NaN that was left out shows in the sum
  return finish_scores(scores, keys, {.scale = std::exchange(scale, 1.0F)});
}

// All maxima come first: the processor does not see far enough ahead to find the next row's while it weighs
// one.
void Bf16Weights::weigh(const KernelArguments& arguments, const ScoreRows& rows, float* scores, float* buffer,
                        RunningWeights& running, float* shrinks, const Bf16Rows& weights) const {
  struct Row {
    KeyRange span;
    float before, scale;
    bool counts;
  };
  std::array<Row, kMaxQueryBlock> found;
  for (int64_t r = 0; r < rows.count; ++r) {
    Row& row = found[static_cast<size_t>(r)];
    ScorePlace place = rows.row(r);
    row.span = weights_.span(arguments, place, rows.keys);
    place.key += row.span.first;
    row.before = running.top[static_cast<size_t>(r)];
    const float largest = finish(arguments, place, row.span.last - row.span.first,
                                 scores + r * rows.stride + row.span.first, buffer, row.scale);
    row.counts = ScoreWeights::raise(largest, r, running);
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    const Row& row = found[static_cast<size_t>(r)];
    uint16_t* to = weights.to + r * weights.stride;
    shrinks[r] = 1;
    if (row.counts) {
      const RowScores own{scores + r * rows.stride, row.span, row.scale, running.top[static_cast<size_t>(r)]};
      const float sum = make_weights(own, rows.keys, to, weights.chunk);
      shrinks[r] = ScoreWeights::add(sum, row.before, r, running);
    } else {
      for (int64_t key = 0; key < rows.keys; key += kChunk, to += weights.chunk)
        std::fill_n(to, kChunk, uint16_t{0});
    }
  }
}

void Bf16Weights::store(const KernelArguments& arguments, int64_t entry, int64_t head, int64_t query,
                        const float* sums, float weight) const {
  auto* to =
      static_cast<uint16_t*>(arguments.outputs[0]) + plan_.out.at(entry, head) + query * plan_.out.row_stride;
  if (weights_.gives_zeros(weight))
    std::fill_n(to, plan_.v.size, uint16_t{0});
  else
    scale_row(sums, plan_.v.size, 1 / weight, to);
}

}  // namespace vernier::cpu
