#include "vector_references.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace vernier::cpu {
namespace {

template <class T>
using Lanes = std::array<T, 64 / sizeof(T)>;

template <class T>
Lanes<T> lanes(const uint8_t* bytes) {
  return std::bit_cast<Lanes<T>>(*reinterpret_cast<const std::array<uint8_t, 64>*>(bytes));
}

template <class T>
void store(const Lanes<T>& lanes, uint8_t* to) {
  std::memcpy(to, lanes.data(), 64);
}

bool is_set(uint64_t mask, size_t lane) {
  return (mask >> lane & 1) != 0;
}

using Reference = std::function<void(const VectorInput&, uint8_t*)>;

// f(a, b, c) of each lane.
template <class To, class From, class F>
Reference by_lane(const F& f) {
  return [f](const VectorInput& in, uint8_t* out) {
    const auto a = lanes<From>(in.a), b = lanes<From>(in.b), c = lanes<From>(in.c);
    Lanes<To> result{};
    for (size_t i = 0; i < std::min(a.size(), result.size()); ++i) result[i] = f(a[i], b[i], c[i]);
    store(result, out);
  };
}

// f(i, a, b, c) of lane i, from whole vectors.
template <class T, class F>
Reference from_all(const F& f) {
  return [f](const VectorInput& in, uint8_t* out) {
    const auto a = lanes<T>(in.a), b = lanes<T>(in.b), c = lanes<T>(in.c);
    Lanes<T> result{};
    for (size_t i = 0; i < result.size(); ++i) result[i] = f(i, a, b, c);
    store(result, out);
  };
}

// Lanes of a that the mask names, in others of b, or nothing; a store leaves the others as they are.
enum class Others : uint8_t { kZero, kB, kOutput };
template <class T>
Reference masked(Others others, size_t count = 64 / sizeof(T), bool rest_of_b = false) {
  return [=](const VectorInput& in, uint8_t* out) {
    const auto a = lanes<T>(in.a), b = lanes<T>(in.b);
    auto result = others == Others::kB || rest_of_b ? b
                  : others == Others::kOutput       ? lanes<T>(out)
                                                    : Lanes<T>{};
    for (size_t i = 0; i < count; ++i) {
      if (is_set(in.mask, i))
        result[i] = a[i];
      else if (others == Others::kZero)
        result[i] = 0;
    }
    store(result, out);
  };
}

float without_subnormals(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

float upcast(uint16_t half) {
  return without_subnormals(std::bit_cast<float>(uint32_t{half} << 16));
}

uint16_t narrowed(float x) {
  const auto bits = std::bit_cast<uint32_t>(without_subnormals(x));
  if (std::isnan(x)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  const uint32_t rest = bits & 0xFFFF, upper = bits >> 16;
  return static_cast<uint16_t>(upper + (rest > 0x8000 || (rest == 0x8000 && upper % 2 == 1) ? 1 : 0));
}

int32_t nearest(float x) {
  if (!(std::abs(x) <= 0x1p31F) || x == 0x1p31F) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(std::nearbyint(x));
}

template <class To>
To saturated(int64_t x) {
  return static_cast<To>(
      std::clamp<int64_t>(x, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
}

// Every 16 bytes come half from a and half from b.
template <class To, class From>
Reference packed() {
  return [](const VectorInput& in, uint8_t* out) {
    const auto a = lanes<From>(in.a), b = lanes<From>(in.b);
    constexpr size_t kPart = 16 / sizeof(From);
    Lanes<To> result{};
    for (size_t i = 0; i < result.size(); ++i) {
      const size_t place = i / (2 * kPart) * kPart + i % kPart;
      result[i] = saturated<To>(i / kPart % 2 == 0 ? a[place] : b[place]);
    }
    store(result, out);
  };
}

// The odd product first.
void add_bf16_products(const VectorInput& in, uint8_t* out) {
  auto sums = lanes<float>(in.a);
  const auto x = lanes<uint16_t>(in.b), y = lanes<uint16_t>(in.c);
  for (size_t i = 0; i < sums.size(); ++i) {
    const float odd = std::fma(upcast(x[2 * i + 1]), upcast(y[2 * i + 1]), without_subnormals(sums[i]));
    sums[i] = without_subnormals(std::fma(upcast(x[2 * i]), upcast(y[2 * i]), without_subnormals(odd)));
  }
  store(sums, out);
}

void add_byte_products(const VectorInput& in, uint8_t* out) {
  auto sums = lanes<uint32_t>(in.a);
  const auto x = lanes<uint8_t>(in.b);
  const auto y = lanes<int8_t>(in.c);
  for (size_t i = 0; i < x.size(); ++i) sums[i / 4] += static_cast<uint32_t>(int32_t{x[i]} * y[i]);
  store(sums, out);
}

void narrow_both(const VectorInput& in, uint8_t* out) {
  const auto a = lanes<float>(in.a), b = lanes<float>(in.b);
  Lanes<uint16_t> result{};
  for (size_t i = 0; i < a.size(); ++i) {
    result[i] = narrowed(b[i]);
    result[a.size() + i] = narrowed(a[i]);
  }
  store(result, out);
}

float scaled(float x, float power) {
  if (std::isnan(power)) return power;
  const bool is_quiet = (std::bit_cast<uint32_t>(x) & 0x7FC00000) == 0x7FC00000;
  if (std::isinf(power)) return (is_quiet ? 1 : x) * (power > 0 ? power : 0);
  return std::scalbn(x, static_cast<int>(std::floor(std::clamp(power, -1000.0F, 1000.0F))));
}

// Gives what is above the whole number below x, rounded down.
float rest_below(float x) {
  const float whole = std::floor(x), rest = x - whole;
  if (x == whole) return std::isinf(x) ? 0.0F : -0.0F;
  const bool is_above = static_cast<double>(rest) + static_cast<double>(whole) > static_cast<double>(x);
  return is_above ? std::nextafter(rest, 0.0F) : rest;
}

template <class F>
Reference to_word(const F& f) {
  return [f](const VectorInput& in, uint8_t* out) {
    const uint64_t word = f(in);
    std::memcpy(out, &word, sizeof(word));
  };
}

uint64_t signs(const VectorInput& in) {
  uint64_t result = 0;
  for (size_t i = 0; i < 64; ++i) result |= uint64_t{in.a[i]} >> 7 << i;
  return result;
}

uint64_t not_greater(const VectorInput& in) {
  const auto a = lanes<float>(in.a), b = lanes<float>(in.b);
  uint64_t result = 0;
  for (size_t i = 0; i < a.size(); ++i) result |= uint64_t{!(a[i] > b[i])} << i;
  return result;
}

uint64_t sum_of_words(const VectorInput& in) {
  uint32_t sum = 0;
  for (const uint32_t lane : lanes<uint32_t>(in.a)) sum += lane;
  return sum;
}

}  // namespace

const std::map<std::string, Reference>& vector_references() {
  using F = float;
  static const std::map<std::string, Reference> references = {
      // The second operand is what a comparison with NaN gives.
      {"min_ps", by_lane<F, F>([](F a, F b, F) { return a < b ? a : b; })},
      {"max_ps", by_lane<F, F>([](F a, F b, F) { return a > b ? a : b; })},
      {"fmadd_ps", by_lane<F, F>([](F a, F b, F c) { return std::fma(a, b, c); })},
      {"fmsub_ps", by_lane<F, F>([](F a, F b, F c) { return std::fma(a, b, -c); })},
      {"fnmadd_ps", by_lane<F, F>([](F a, F b, F c) { return std::fma(-a, b, c); })},
      {"rcp14_ps", by_lane<F, F>([](F a, F, F) { return 1 / a; })},
      {"roundscale_ps", by_lane<F, F>([](F a, F, F) { return std::nearbyint(a); })},
      {"reduce_ps", by_lane<F, F>([](F a, F, F) { return rest_below(a); })},
      {"scalef_ps", by_lane<F, F>([](F a, F b, F) { return scaled(a, b); })},
      {"cvtps_epi32", by_lane<int32_t, F>([](F a, F, F) { return nearest(a); })},
      {"cvtneps_pbh", by_lane<uint16_t, F>([](F a, F, F) { return narrowed(a); })},
      {"cvtne2ps_pbh", narrow_both},
      {"dpbf16_ps", add_bf16_products},
      {"dpbusd_epi32", add_byte_products},
      {"adds_epi16", by_lane<int16_t, int16_t>([](int a, int b, int) { return saturated<int16_t>(a + b); })},
      {"packs_epi32", packed<int16_t, int32_t>()},
      {"packs_epi16", packed<int8_t, int16_t>()},
      {"packus_epi16", packed<uint8_t, int16_t>()},
      {"cvtepi32_epi8",
       [](const VectorInput& in, uint8_t* out) {
         std::memset(out, 0, 64);
         for (size_t i = 0; i < 16; ++i) out[32 + i] = in.a[4 * i];
       }},
      {"cvtepu8_epi32", [](const VectorInput& in, uint8_t* out) {
         Lanes<int32_t> result{};
         std::copy_n(in.a, 16, result.begin());
         store(result, out);
       }},
      {"cvtepi8_epi32", [](const VectorInput& in, uint8_t* out) {
         Lanes<int32_t> result{};
         std::copy_n(lanes<int8_t>(in.a).begin(), 16, result.begin());
         store(result, out);
       }},
      {"cvtepu16_epi32", [](const VectorInput& in, uint8_t* out) {
         Lanes<int32_t> result{};
         std::copy_n(lanes<uint16_t>(in.a).begin(), 16, result.begin());
         store(result, out);
       }},
      {"permutexvar_epi16", from_all<uint16_t>([](size_t i, auto& a, auto& b, auto&) { return b[a[i] % 32]; })},
      {"permutexvar_epi32", from_all<uint32_t>([](size_t i, auto& a, auto& b, auto&) { return b[a[i] % 16]; })},
      {"permutex2var_epi64", from_all<uint64_t>([](size_t i, auto& a, auto& b, auto& c) {
         return b[i] % 16 < 8 ? a[b[i] % 8] : c[b[i] % 8];
       })},
      {"permutex2var_epi8", from_all<uint8_t>([](size_t i, auto& a, auto& b, auto& c) {
         return b[i] % 128 < 64 ? a[b[i] % 64] : c[b[i] % 64];
       })},
      {"movepi8_mask", to_word(signs)},
      {"cmp_ps_mask", to_word(not_greater)},
      {"reduce_add_epi32", to_word(sum_of_words)},
      {"maskz_mov_ps", masked<F>(Others::kZero)},
      {"maskz_mov_epi8", masked<uint8_t>(Others::kZero)},
      {"maskz_loadu_ps", masked<F>(Others::kZero)},
      {"maskz_loadu_epi16", masked<uint16_t>(Others::kZero)},
      {"maskz_loadu_epi8", masked<uint8_t>(Others::kZero)},
      {"maskz_loadu_epi16_of_256", masked<uint16_t>(Others::kZero, 16, true)},
      {"maskz_loadu_epi8_of_256", masked<uint8_t>(Others::kZero, 32, true)},
      {"maskz_loadu_epi8_of_128", masked<uint8_t>(Others::kZero, 16, true)},
      {"mask_loadu_ps", masked<F>(Others::kB)},
      {"mask_loadu_epi16", masked<uint16_t>(Others::kB)},
      {"mask_storeu_ps", masked<F>(Others::kOutput)},
      {"mask_storeu_epi16", masked<uint16_t>(Others::kOutput)},
      {"mask_storeu_epi8", masked<uint8_t>(Others::kOutput)},
      {"mask_storeu_epi8_of_256", masked<uint8_t>(Others::kOutput, 32)},
      {"mask_storeu_epi8_of_128", masked<uint8_t>(Others::kOutput, 16)},
  };
  return references;
}

}  // namespace vernier::cpu
