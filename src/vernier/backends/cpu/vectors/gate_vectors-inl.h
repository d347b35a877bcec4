// Gates of activations, of vectors of floats. Included once for each instruction set, after hwy/highway.h.
#if defined(VERNIER_GATE_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_GATE_VECTORS_INL_H
#undef VERNIER_GATE_VECTORS_INL_H
#else
#define VERNIER_GATE_VECTORS_INL_H
#endif

#include "vernier/backends/cpu/vectors/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

// 1 / (1 + exp(-x)) within a few ulp down to 2^-125 and 0 below, so that infinity times it is NaN; of any
// number. It is a quotient by Newton's step, for divisions would be half of the time.
HWY_INLINE Vec gate(Vec x) {
  const Floats d;
  const Vec limit = hn::Set(d, 87.0F), two = hn::Set(d, 2.0F);
  const Vec e = exp_bounded(hn::Min(hn::Max(hn::Neg(x), hn::Neg(limit)), limit));
  const Vec sum = hn::Add(hn::Set(d, 1.0F), e), guess = hn::ApproximateReciprocal(sum);
  const auto closed = hn::Gt(sum, hn::Set(d, 0x1p125F));
  return hn::IfThenZeroElse(closed, hn::Mul(guess, hn::NegMulAdd(sum, guess, two)));
}

// x * sigmoid(alpha * x).
HWY_INLINE Vec swish(Vec alpha, Vec x) {
  return hn::Mul(x, gate(hn::Mul(alpha, x)));
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
