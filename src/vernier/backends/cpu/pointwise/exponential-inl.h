// exp and expm1 of vectors of f32.
#if defined(VERNIER_EXPONENTIAL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_EXPONENTIAL_INL
#undef VERNIER_EXPONENTIAL_INL
#else
#define VERNIER_EXPONENTIAL_INL
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The polynomial with these coefficients, that of the highest power first.
template <class D, class V, size_t N>
HWY_INLINE HWY_ATTR V horner(D d, V x, const float (&coefficients)[N]) {
  V y = hn::Set(d, coefficients[0]);
  for (size_t i = 1; i < N; ++i) y = hn::MulAdd(y, x, hn::Set(d, coefficients[i]));
  return y;
}

// exp(x) = (1 + fraction) * 2^power for |fraction| < 0.42.
template <class D>
struct SplitExponential {
  hn::Vec<D> fraction;
  hn::Vec<hn::RebindToSigned<D>> power;
};

template <class D, class V>
HWY_INLINE HWY_ATTR SplitExponential<D> split_exponential(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V power = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504089F)));
  // ln 2 in two parts; the first has so few bits that its products are exact.
  V r = hn::NegMulAdd(power, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(power, hn::Set(d, -2.12194440055e-4F), r);
  // (exp(r) - 1 - r) / r^2, fitted to 3e-10 of exp(r) - 1.
  constexpr float kCoefficients[] = {1.98459574355e-4F, 1.39416408951e-3F, 8.33339155765e-3F,
                                     4.16663488496e-2F, 0.166666663526F,   0.5F};
  const V fraction = hn::MulAdd(hn::Mul(r, r), horner(d, r, kCoefficients), r);
  return {fraction, hn::ConvertTo(di, power)};
}

template <class D, class VI>
HWY_INLINE HWY_ATTR hn::Vec<D> power_of_two(D d, VI power) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(power, hn::Set(di, 127))));
}

// Between bounds; a NaN stays.
template <class D, class V>
HWY_INLINE HWY_ATTR V bound(D d, V x, float low, float high) {
  const V above = hn::IfThenElse(hn::Lt(x, hn::Set(d, low)), hn::Set(d, low), x);
  return hn::IfThenElse(hn::Gt(above, hn::Set(d, high)), hn::Set(d, high), above);
}

// exp(x) = head * scale, where head is a normal number, or zero where nothing but zero is near: what is
// multiplied by both is rounded once where the result is denormal.
template <class D>
struct ScaledExponential {
  hn::Vec<D> head, scale;
  HWY_INLINE HWY_ATTR hn::Vec<D> value() const { return hn::Mul(head, scale); }
};

template <class D, class V>
HWY_INLINE HWY_ATTR ScaledExponential<D> scaled_exp(D d, V x) {
  constexpr float kLowest = -126;
  const auto split = split_exponential(d, bound(d, x, kLowest, 89.0F));
  const auto half = hn::ShiftRight<1>(split.power);
  const V head = hn::Mul(hn::Add(split.fraction, hn::Set(d, 1.0F)), power_of_two(d, half));
  return {hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kLowest)), head),
          power_of_two(d, hn::Sub(split.power, half))};
}

template <class D, class V>
HWY_INLINE HWY_ATTR V exp(D d, V x) {
  return scaled_exp(d, x).value();
}

// exp(x) - 1.
template <class D, class V>
HWY_INLINE HWY_ATTR V expm1(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto split = split_exponential(d, bound(d, x, -20.0F, 88.8F));
  // 2^power overflows at 128, so its half is taken.
  const V half = power_of_two(d, hn::Sub(split.power, hn::Set(di, 1)));
  const V y = hn::MulAdd(split.fraction, half, hn::Sub(half, hn::Set(d, 0.5F)));
  // Where nothing is added, -0 stays.
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Add(y, y));
}

// exp(-a b) for a, b >= 0, whose product is taken exactly: its rounding error would grow with the exponent.
template <class D, class V>
HWY_INLINE HWY_ATTR ScaledExponential<D> exp_of_product(D d, V a, V b) {
  const hn::RebindToUnsigned<D> du;
  const auto upper = hn::BitCast(d, hn::Set(du, 0xfffff000U));  // so many bits that products are exact
  const V a_upper = hn::And(a, upper), b_upper = hn::And(b, upper);
  const V a_lower = hn::Sub(a, a_upper), b_lower = hn::Sub(b, b_upper);
  const V product = hn::Mul(a, b);
  V error = hn::Sub(hn::Mul(a_upper, b_upper), product);
  error = hn::MulAdd(a_upper, b_lower, error);
  error = hn::MulAdd(a_lower, b_upper, error);
  error = hn::MulAdd(a_lower, b_lower, error);
  auto e = scaled_exp(d, hn::Neg(product));
  // Where the exponential is zero, the error may be no number.
  e.head = hn::IfThenElse(hn::Gt(product, hn::Set(d, 126.0F)), e.head, hn::NegMulAdd(error, e.head, e.head));
  return e;
}

template <class D, class V>
HWY_INLINE HWY_ATTR V tanh(D d, V x) {
  const V limit = hn::Set(d, 10.0F), size = hn::Abs(x);  // tanh(10) is 1
  const V bounded = hn::IfThenElse(hn::Gt(size, limit), limit, size);
  const V e = expm1(d, hn::Add(bounded, bounded));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0F))), x);
}

template <class D, class V>
HWY_INLINE HWY_ATTR V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0F), e = exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
