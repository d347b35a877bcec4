// Sigmoid and tanh of vectors of floats, once for each instruction set.
#if defined(VERNIER_ACTIVATION_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_ACTIVATION_VECTORS_INL_H
#undef VERNIER_ACTIVATION_VECTORS_INL_H
#else
#define VERNIER_ACTIVATION_VECTORS_INL_H
#endif

#include "vernier/backends/cpu/kernels/float_vectors-inl.h"
#include "vernier/backends/cpu/pointwise/exponential-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

HWY_INLINE Vec sigmoid(Vec x) {
  const Floats d;
  const Vec one = hn::Set(d, 1.0F), e = exp(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

HWY_INLINE Vec tanh(Vec x) {
  const Floats d;
  const Vec size = bound(d, hn::Abs(x), 0, 10.0F);  // tanh(10) is 1
  const Vec e = expm1(d, hn::Add(size, size));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0F))), x);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
