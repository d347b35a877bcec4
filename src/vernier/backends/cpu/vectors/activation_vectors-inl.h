// Sigmoid and tanh of vectors of floats, once for each instruction set.
#if defined(VERNIER_ACTIVATION_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_ACTIVATION_VECTORS_INL_H
#undef VERNIER_ACTIVATION_VECTORS_INL_H
#else
#define VERNIER_ACTIVATION_VECTORS_INL_H
#endif

#include "vernier/backends/cpu/pointwise/exponential-inl.h"
#include "vernier/backends/cpu/vectors/float_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

HWY_INLINE Vec sigmoid(Vec x) {
  return sigmoid(Floats(), x);
}

HWY_INLINE Vec tanh(Vec x) {
  return tanh(Floats(), x);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
