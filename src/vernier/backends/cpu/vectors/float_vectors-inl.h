// Vectors of floats: partial loads and stores, and the exponential function. Included once for each
// instruction set, after hwy/highway.h.
#if defined(VERNIER_FLOAT_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_FLOAT_VECTORS_INL_H
#undef VERNIER_FLOAT_VECTORS_INL_H
#else
#define VERNIER_FLOAT_VECTORS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;

// The first `count` elements, fewer than a vector, and zeros.
HWY_INLINE Vec load_some(const float* from, size_t count) {
  const Floats d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t i = 0; i < count; ++i) buffer[i] = from[i];
  return hn::Load(d, buffer);
#else
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#endif
}

HWY_INLINE void store_some(Vec v, size_t count, float* to) {
  const Floats d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, d, buffer);
  for (size_t i = 0; i < count; ++i) to[i] = buffer[i];
#else
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#endif
}

// Calls body(position, load, store) for each vector of `count` elements: load(p) reads there, store(v, p)
// writes, as many elements as are left.
template <class Body>
HWY_INLINE void for_each_vector(int64_t count, const Body& body) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(
        i, [d](const float* p) HWY_ATTR { return hn::LoadU(d, p); },
        [d](Vec v, float* p) HWY_ATTR { hn::StoreU(v, d, p); });
  }
  if (i < count) {
    const auto rest = static_cast<size_t>(count - i);
    body(
        i, [rest](const float* p) HWY_ATTR { return load_some(p, rest); },
        [rest](Vec v, float* p) HWY_ATTR { store_some(v, rest, p); });
  }
}

// exp(x) for |x| <= 87, within an ulp or two. exp(x) = 2^n * exp(r), |r| <= ln(2) / 2, with the Taylor
// polynomial of degree 7, whose remainder is below 2^-27.
HWY_INLINE Vec exp_bounded(Vec x) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  // A sum with this has no digits behind the point, and ends in the exponent of 2^n.
  const Vec whole = hn::Set(d, 0x1.8p23F + 127);
  const Vec shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341F), whole);
  const Vec n = hn::Sub(shifted, whole);
  // ln(2) in two parts, of which the first has few digits: n times it is exact.
  Vec r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  Vec p = hn::Set(d, 1.0F / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0F));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// The same for x <= 0; 0 below 2^-126.
HWY_INLINE Vec exp_negative(Vec x) {
  const Floats d;
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.336544F)), hn::Zero(d), exp_bounded(x));
}

HWY_INLINE float sum_of(Vec v) {
  return hn::GetLane(hn::SumOfLanes(Floats(), v));
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
