// Shapes of loops, once for each instruction set (Highway's foreach_target).
#if defined(VERNIER_POINTWISE_LOOPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_POINTWISE_LOOPS_INL
#undef VERNIER_POINTWISE_LOOPS_INL
#else
#define VERNIER_POINTWISE_LOOPS_INL
#endif

#include "hwy/highway.h"
#include "vernier/backends/cpu/pointwise/loop.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The attributes of an operator in every lane.
template <class D>
struct Attributes {
  hn::Vec<D> alpha, beta;
  HWY_ATTR Attributes(D d, const LoopArguments& x)
      : alpha(hn::Set(d, static_cast<hn::TFromD<D>>(x.alpha))),
        beta(hn::Set(d, static_cast<hn::TFromD<D>>(x.beta))) {}
};

// F::of(d, vector…, attributes) on vectors of floats.
template <class T, class F>
HWY_ATTR void unary(const LoopArguments& x) {
  using D = hn::ScalableTag<T>;
  const D d;
  const Attributes<D> attributes(d, x);
  const auto* a = static_cast<const T*>(x.a);
  auto* to = static_cast<T*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(F::of(d, hn::LoadU(d, a + i), attributes), d, to + i);
}

template <class T, class F>
HWY_ATTR void binary(const LoopArguments& x) {
  const hn::ScalableTag<T> d;
  const auto *a = static_cast<const T*>(x.a), *b = static_cast<const T*>(x.b);
  auto* to = static_cast<T*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(F::of(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
}

// Loops of blocks of a constant length, which compilers vectorise.
#if defined(__clang__)
#define VERNIER_INDEPENDENT _Pragma("clang loop vectorize(enable)")
#else
#define VERNIER_INDEPENDENT _Pragma("GCC ivdep")
#endif

// to[i] = F::of(element…) in C++, for types and conversions that have no vectors of their own.
template <class R, class F, class A>
HWY_ATTR void each(const LoopArguments& x) {
  const auto* a = static_cast<const A*>(x.a);
  auto* to = static_cast<R*>(x.to);
  for (int64_t block = 0; block < x.count; block += kLoopBlock) {
    VERNIER_INDEPENDENT
    for (int64_t i = block; i < block + kLoopBlock; ++i) to[i] = static_cast<R>(F::of(a[i]));
  }
}

template <class R, class F, class A>
HWY_ATTR void each_pair(const LoopArguments& x) {
  const auto *a = static_cast<const A*>(x.a), *b = static_cast<const A*>(x.b);
  auto* to = static_cast<R*>(x.to);
  for (int64_t block = 0; block < x.count; block += kLoopBlock) {
    VERNIER_INDEPENDENT
    for (int64_t i = block; i < block + kLoopBlock; ++i) to[i] = static_cast<R>(F::of(a[i], b[i]));
  }
}

struct NamedLoop {
  std::string_view op;
  Loop loop;
};

template <size_t N>
Loop find(const NamedLoop (&loops)[N], std::string_view op) {
  for (const NamedLoop& each : loops) {
    if (each.op == op) return each.loop;
  }
  return nullptr;
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
