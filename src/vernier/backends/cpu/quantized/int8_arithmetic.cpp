#include <cmath>

#include "vernier/backends/cpu/quantized/int8_table.h"
#include "vernier/backends/shared/quantized.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/quantized/int8_arithmetic.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Integers = hn::RebindToSigned<Floats>;
using FloatsVec = hn::Vec<Floats>;

template <bool kSigned>
HWY_INLINE FloatsVec codes(const uint8_t* from) {
  const Integers integers;
  const hn::Rebind<uint8_t, Floats> unsigned_int8;
  const hn::Rebind<int8_t, Floats> signed_int8;
  const auto bytes = hn::LoadU(unsigned_int8, from);
  if constexpr (kSigned)
    return hn::ConvertTo(Floats(), hn::PromoteTo(integers, hn::BitCast(signed_int8, bytes)));
  else
    return hn::ConvertTo(Floats(), hn::PromoteTo(integers, bytes));
}

template <bool kSigned>
HWY_INLINE void store(hn::Vec<Integers> results, uint8_t* to) {
  const hn::Rebind<uint8_t, Floats> unsigned_int8;
  const hn::Rebind<int8_t, Floats> signed_int8;
  if constexpr (kSigned)
    hn::StoreU(hn::BitCast(unsigned_int8, hn::DemoteTo(signed_int8, results)), unsigned_int8, to);
  else
    hn::StoreU(hn::DemoteTo(unsigned_int8, results), unsigned_int8, to);
}

HWY_INLINE void look_up_pairs(const uint8_t* table, const uint8_t* a, const uint8_t* b, int64_t count,
                              uint8_t* to) {
  constexpr int64_t kCodes = 256;
  for (int64_t i = 0; i < count; ++i) to[i] = table[a[i] * kCodes + b[i]];
}

template <bool kProduct, bool kASigned, bool kBSigned, bool kSigned>
void run_typed(const Int8Arithmetic& how, const uint8_t* table, const uint8_t* a, const uint8_t* b,
               int64_t count, uint8_t* to) {
  const Floats d;
  const Integers integers;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const FloatsVec a_factor = hn::Set(d, how.a_factor), b_factor = hn::Set(d, how.b_factor),
                  offset = hn::Set(d, how.offset), a_zero = hn::Set(d, how.a_zero),
                  b_zero = hn::Set(d, how.b_zero), most_certain = hn::Set(d, how.most_certain);
  const auto zero_point = hn::Set(integers, how.zero_point);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const FloatsVec x = codes<kASigned>(a + i), y = codes<kBSigned>(b + i);
    const FloatsVec steps = kProduct ? hn::Mul(hn::Mul(hn::Sub(x, a_zero), hn::Sub(y, b_zero)), a_factor)
                                     : hn::MulAdd(x, a_factor, hn::MulAdd(y, b_factor, offset));
    const auto nearest = hn::NearestInt(steps);
    const FloatsVec distance = hn::Abs(hn::Sub(steps, hn::ConvertTo(d, nearest)));
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(distance, most_certain))))
      store<kSigned>(hn::Add(nearest, zero_point), to + i);
    else
      look_up_pairs(table, a + i, b + i, lanes, to + i);
  }
  look_up_pairs(table, a + i, b + i, count - i, to + i);
}

using Run = void (*)(const Int8Arithmetic&, const uint8_t*, const uint8_t*, const uint8_t*, int64_t,
                     uint8_t*);

template <bool... kChosen>
Run chosen() {
  return run_typed<kChosen...>;
}
template <bool... kChosen, typename... Flags>
Run chosen(bool flag, Flags... flags) {
  return flag ? chosen<kChosen..., true>(flags...) : chosen<kChosen..., false>(flags...);
}

}  // namespace

void run_arithmetic_here(const Int8Arithmetic& how, const uint8_t* table, const uint8_t* a, const uint8_t* b,
                         int64_t count, uint8_t* to) {
  chosen(how.is_product, how.a_signed, how.b_signed, how.result_signed)(how, table, a, b, count, to);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(run_arithmetic_here);

void Int8Arithmetic::run(const uint8_t* table, const uint8_t* a, const uint8_t* b, int64_t count,
                         uint8_t* to) const {
  HWY_DYNAMIC_DISPATCH(run_arithmetic_here)(*this, table, a, b, count, to);
}

std::optional<Int8Arithmetic> Int8Arithmetic::of(const KernelRequest& request) {
  enum Input : size_t { kA = 0, kB = 3, kResult = 6 };
  const bool is_product = request.node.op == "QLinearMul";
  if (!is_product && request.node.op != "QLinearAdd") return std::nullopt;
  const auto a = known_affine(request, kA + 1, kA + 2), b = known_affine(request, kB + 1, kB + 2),
             y = known_affine(request, kResult, kResult + 1);
  if (!a || !b || !y) return std::nullopt;
  constexpr double kMostCode = 255;  // from a zero point
  double most = 0;
  Int8Arithmetic result;
  result.is_product = is_product;
  if (is_product) {
    const double factor = a->scale * b->scale / y->scale;
    result.a_factor = static_cast<float>(factor);
    most = kMostCode * kMostCode * factor;
  } else {
    const double a_factor = a->scale / y->scale, b_factor = b->scale / y->scale,
                 offset = -(a->zero_point * a_factor + b->zero_point * b_factor);
    result.a_factor = static_cast<float>(a_factor);
    result.b_factor = static_cast<float>(b_factor);
    result.offset = static_cast<float>(offset);
    most = kMostCode * (a_factor + b_factor) + std::abs(offset);
  }
  // Factors, each operation and what this is compared with, a quotient in float, are rounded: at most six
  // times, by 2^-24 of the largest number.
  const double doubt = most * 0x1p-21;
  constexpr double kMostDoubt = 1.0 / 64;
  if (!(doubt <= kMostDoubt)) return std::nullopt;
  const auto is_signed = [](const Operand& operand) { return operand.element == ElementType::kInt8; };
  result.a_signed = is_signed(request.in(kA));
  result.b_signed = is_signed(request.in(kB));
  result.result_signed = is_signed(request.out());
  result.a_zero = static_cast<float>(a->zero_point);
  result.b_zero = static_cast<float>(b->zero_point);
  result.most_certain = static_cast<float>(0.5 - doubt);
  result.zero_point = static_cast<int32_t>(y->zero_point);
  return result;
}

}  // namespace vernier::cpu
#endif
