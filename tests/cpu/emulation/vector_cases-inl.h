// The cases of vector_cases.h, compiled once with the instructions of the processor and once with emulated
// ones.
#include "vector_cases.h"
#include "vernier/backends/cpu/vector_instructions.h"

#define VERNIER_ALL VERNIER_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx512vbmi")
// `code` has three vectors a, b and c, and a mask of as many lanes as the name says.
#define VERNIER_CASE(name, result, Mask, load, code)                                      \
  {                                                                                       \
#name, VectorResult::result, [](const VectorInput& in, uint8_t* out) VERNIER_ALL {      \
     [[maybe_unused]] const auto a = load(in.a), b = load(in.b), c = load(in.c);           \
     [[maybe_unused]] const auto mask = static_cast<Mask>(in.mask);                        \
     code;                                                                                 \
   } \
  }
#define VERNIER_FLOATS(name, result, ...) \
  VERNIER_CASE(name, result, __mmask16, _mm512_loadu_ps, _mm512_storeu_ps(out, __VA_ARGS__))
#define VERNIER_FROM_FLOATS(name, ...) \
  VERNIER_CASE(name, kBits, __mmask16, _mm512_loadu_ps, _mm512_storeu_si512(out, __VA_ARGS__))
#define VERNIER_BYTES(name, Mask, ...) \
  VERNIER_CASE(name, kBits, Mask, _mm512_loadu_si512, _mm512_storeu_si512(out, __VA_ARGS__))
#define VERNIER_2_FLOATS(name) VERNIER_FLOATS(name, kFloats, _mm512_##name(a, b))
#define VERNIER_3_FLOATS(name) VERNIER_FLOATS(name, kFloats, _mm512_##name(a, b, c))
#define VERNIER_2_BYTES(name) VERNIER_BYTES(name, __mmask64, _mm512_##name(a, b))
#define VERNIER_STORE(name, Mask, ...) VERNIER_CASE(name, kBits, Mask, _mm512_loadu_si512, __VA_ARGS__)

namespace vernier::cpu {
namespace {

VERNIER_ALL inline __m512bh bf16_of(__m512i x) {
  return reinterpret_cast<__m512bh>(x);
}

VERNIER_ALL inline void store_word(uint8_t* to, uint64_t word) {
  __builtin_memcpy(to, &word, sizeof(word));
}

VERNIER_ALL inline void store_float(uint8_t* to, float number) {
  __builtin_memcpy(to, &number, sizeof(number));
}

constexpr VectorCase kCases[] = {
    VERNIER_2_FLOATS(add_ps),
    VERNIER_2_FLOATS(sub_ps),
    VERNIER_2_FLOATS(mul_ps),
    VERNIER_FLOATS(min_ps, kBits, _mm512_min_ps(a, b)),
    VERNIER_FLOATS(max_ps, kBits, _mm512_max_ps(a, b)),
    VERNIER_FLOATS(mask_max_ps, kBits, _mm512_mask_max_ps(c, mask, a, b)),
    VERNIER_3_FLOATS(fmadd_ps),
    VERNIER_3_FLOATS(fmsub_ps),
    VERNIER_3_FLOATS(fnmadd_ps),
    VERNIER_FLOATS(maskz_fmadd_ps, kFloats, _mm512_maskz_fmadd_ps(mask, a, b, c)),
    VERNIER_FLOATS(maskz_mov_ps, kBits, _mm512_maskz_mov_ps(mask, a)),
    VERNIER_FLOATS(rcp14_ps, kReciprocal, _mm512_rcp14_ps(a)),
    VERNIER_FLOATS(roundscale_ps, kFloats, _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT)),
    VERNIER_FLOATS(reduce_ps, kFloats, _mm512_reduce_ps(a, 0x9)),
    VERNIER_2_FLOATS(scalef_ps),
    VERNIER_CASE(cmp_ps_mask, kBits, __mmask16, _mm512_loadu_ps,
                 store_word(out, _mm512_cmp_ps_mask(a, b, _CMP_NGT_UQ))),
    VERNIER_CASE(reduce_add_ps, kSum, __mmask16, _mm512_loadu_ps, store_float(out, _mm512_reduce_add_ps(a))),
    VERNIER_CASE(reduce_max_ps, kSum, __mmask16, _mm512_loadu_ps, store_float(out, _mm512_reduce_max_ps(a))),
    VERNIER_FROM_FLOATS(cvtps_epi32, _mm512_cvtps_epi32(a)),
    VERNIER_FROM_FLOATS(cvtne2ps_pbh, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(a, b))),
    VERNIER_FROM_FLOATS(cvtneps_pbh, _mm512_inserti64x4(_mm512_setzero_si512(),
                                                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(a)), 0)),
    VERNIER_FROM_FLOATS(castps_si512, _mm512_castps_si512(a)),

    VERNIER_2_BYTES(add_epi32),
    VERNIER_2_BYTES(sub_epi32),
    VERNIER_2_BYTES(mullo_epi32),
    VERNIER_2_BYTES(adds_epi16),
    VERNIER_2_BYTES(sub_epi8),
    VERNIER_2_BYTES(min_epi8),
    VERNIER_2_BYTES(max_epi8),
    VERNIER_2_BYTES(min_epu8),
    VERNIER_2_BYTES(max_epu8),
    VERNIER_2_BYTES(and_si512),
    VERNIER_2_BYTES(xor_si512),
    VERNIER_2_BYTES(packs_epi32),
    VERNIER_2_BYTES(packs_epi16),
    VERNIER_2_BYTES(packus_epi16),
    VERNIER_2_BYTES(unpacklo_epi8),
    VERNIER_2_BYTES(unpackhi_epi8),
    VERNIER_2_BYTES(unpacklo_epi16),
    VERNIER_2_BYTES(unpackhi_epi16),
    VERNIER_2_BYTES(unpacklo_epi32),
    VERNIER_2_BYTES(unpackhi_epi32),
    VERNIER_2_BYTES(unpacklo_epi64),
    VERNIER_2_BYTES(unpackhi_epi64),
    VERNIER_2_BYTES(permutexvar_epi16),
    VERNIER_2_BYTES(permutexvar_epi32),
    VERNIER_BYTES(permutex2var_epi64, __mmask64, _mm512_permutex2var_epi64(a, b, c)),
    VERNIER_BYTES(permutex2var_epi8, __mmask64, _mm512_permutex2var_epi8(a, b, c)),
    VERNIER_BYTES(dpbusd_epi32, __mmask64, _mm512_dpbusd_epi32(a, b, c)),
    VERNIER_CASE(dpbf16_ps, kFloats, __mmask16, _mm512_loadu_si512,
                 _mm512_storeu_ps(out, _mm512_dpbf16_ps(_mm512_castsi512_ps(a), bf16_of(b), bf16_of(c)))),
    VERNIER_CASE(cvtepi32_ps, kBits, __mmask16, _mm512_loadu_si512,
                 _mm512_storeu_ps(out, _mm512_cvtepi32_ps(a))),
    VERNIER_BYTES(slli_epi32, __mmask64, _mm512_slli_epi32(a, 16)),
    VERNIER_BYTES(mask_blend_epi8, __mmask64, _mm512_mask_blend_epi8(mask, a, b)),
    VERNIER_BYTES(maskz_mov_epi8, __mmask64, _mm512_maskz_mov_epi8(mask, a)),
    VERNIER_STORE(movepi8_mask, __mmask64, store_word(out, _mm512_movepi8_mask(a))),
    VERNIER_STORE(reduce_add_epi32, __mmask64,
                  store_word(out, static_cast<uint32_t>(_mm512_reduce_add_epi32(a)))),

    VERNIER_BYTES(cvtepu8_epi32, __mmask16, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(a))),
    VERNIER_BYTES(cvtepi8_epi32, __mmask16, _mm512_cvtepi8_epi32(_mm512_castsi512_si128(a))),
    VERNIER_BYTES(cvtepu16_epi32, __mmask16, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(a))),
    VERNIER_BYTES(cvtepi32_epi8, __mmask16,
                  _mm512_inserti32x4(_mm512_setzero_si512(), _mm512_cvtepi32_epi8(a), 2)),
    VERNIER_BYTES(extracti32x4_epi32, __mmask16,
                  _mm512_inserti32x4(_mm512_inserti32x4(b, _mm512_extracti32x4_epi32(a, 1), 3),
                                     _mm512_extracti32x4_epi32(a, 2), 0)),
    VERNIER_BYTES(extracti64x4_epi64, __mmask16, _mm512_inserti64x4(b, _mm512_extracti64x4_epi64(a, 1), 0)),
    VERNIER_BYTES(
        inserti64x4, __mmask16,
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_castsi512_si256(a)), _mm512_castsi512_si256(b), 1)),
    VERNIER_BYTES(shuffle_i32x4, __mmask16,
                  _mm512_xor_si512(_mm512_shuffle_i32x4(a, b, 0x44), _mm512_shuffle_i32x4(a, b, 0xDD))),
    VERNIER_BYTES(shuffle_i32x4_others, __mmask16,
                  _mm512_sub_epi8(_mm512_shuffle_i32x4(a, b, 0xEE), _mm512_shuffle_i32x4(a, b, 0x88))),
    VERNIER_BYTES(setr, __mmask16,
                  _mm512_xor_si512(_mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
                                   _mm512_setr_epi64(-1, -20, -300, -4000, 50000, 6, 7, 8))),
    VERNIER_BYTES(set1, __mmask16,
                  _mm512_xor_si512(_mm512_set1_epi8(0x70),
                                   _mm512_xor_si512(_mm512_set1_epi16(0x1234), _mm512_set1_epi32(0x456789)))),

    VERNIER_BYTES(maskz_loadu_epi16, __mmask32, _mm512_maskz_loadu_epi16(mask, in.from)),
    VERNIER_BYTES(maskz_loadu_epi8, __mmask64, _mm512_maskz_loadu_epi8(mask, in.from)),
    VERNIER_BYTES(mask_loadu_epi16, __mmask32, _mm512_mask_loadu_epi16(b, mask, in.from)),
    VERNIER_FLOATS(maskz_loadu_ps, kBits, _mm512_maskz_loadu_ps(mask, in.from)),
    VERNIER_FLOATS(mask_loadu_ps, kBits, _mm512_mask_loadu_ps(b, mask, in.from)),
    VERNIER_BYTES(maskz_loadu_epi16_of_256, __mmask16,
                  _mm512_inserti64x4(b, _mm256_maskz_loadu_epi16(mask, in.from), 0)),
    VERNIER_BYTES(maskz_loadu_epi8_of_256, __mmask32,
                  _mm512_inserti64x4(b, _mm256_maskz_loadu_epi8(mask, in.from), 0)),
    VERNIER_BYTES(maskz_loadu_epi8_of_128, __mmask16,
                  _mm512_inserti32x4(b, _mm_maskz_loadu_epi8(mask, in.from), 0)),
    VERNIER_CASE(mask_storeu_ps, kBits, __mmask16, _mm512_loadu_ps, _mm512_mask_storeu_ps(out, mask, a)),
    VERNIER_STORE(mask_storeu_epi16, __mmask32, _mm512_mask_storeu_epi16(out, mask, a)),
    VERNIER_STORE(mask_storeu_epi8, __mmask64, _mm512_mask_storeu_epi8(out, mask, a)),
    VERNIER_STORE(mask_storeu_epi8_of_256, __mmask32,
                  _mm256_mask_storeu_epi8(out, mask, _mm512_castsi512_si256(a))),
    VERNIER_STORE(mask_storeu_epi8_of_128, __mmask16,
                  _mm_mask_storeu_epi8(out, mask, _mm512_castsi512_si128(a))),
    VERNIER_STORE(aligned, __mmask16, _mm512_store_si512(out, _mm512_load_si512(in.a))),
    VERNIER_CASE(aligned_ps, kBits, __mmask16, _mm512_load_ps, _mm512_storeu_ps(out, a)),
};

}  // namespace
}  // namespace vernier::cpu
