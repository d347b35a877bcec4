// Functions of f32 computed in f64: those whose argument must be reduced, or whose error grows, in f32.
#include "vernier/backends/cpu/pointwise/loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/wide_function_loops.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/loops-inl.h"
#include "hwy/contrib/math/math-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

// Twice as many bits and half as many lanes.
using Half = hn::Half<hn::ScalableTag<float>>;
using Wide = hn::Rebind<double, Half>;
using Vector = hn::Vec<Wide>;

// Loops over pairs of half vectors.
template <class F>
HWY_ATTR void wide_unary(const LoopArguments& x) {
  const Half half;
  const Wide d;
  const auto* a = static_cast<const float*>(x.a);
  auto* to = static_cast<float*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(half)))
    hn::StoreU(hn::DemoteTo(half, F::of(d, hn::PromoteTo(d, hn::LoadU(half, a + i)))), half, to + i);
}
template <class F>
HWY_ATTR void wide_binary(const LoopArguments& x) {
  const Half half;
  const Wide d;
  const auto *a = static_cast<const float*>(x.a), *b = static_cast<const float*>(x.b);
  auto* to = static_cast<float*>(x.to);
  for (int64_t i = 0; i < x.count; i += static_cast<int64_t>(hn::Lanes(half))) {
    const Vector left = hn::PromoteTo(d, hn::LoadU(half, a + i));
    const Vector right = hn::PromoteTo(d, hn::LoadU(half, b + i));
    hn::StoreU(hn::DemoteTo(half, F::of(d, left, right)), half, to + i);
  }
}

// Where `which` holds, what libm says of the lane.
template <class M>
HWY_ATTR Vector by_libm(Wide d, M which, Vector x, Vector y, double (*function)(double)) {
  alignas(64) double from[hn::MaxLanes(Wide())], to[hn::MaxLanes(Wide())], mask[hn::MaxLanes(Wide())];
  hn::Store(x, d, from);
  hn::Store(y, d, to);
  hn::Store(hn::IfThenElseZero(which, hn::Set(d, 1.0)), d, mask);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    if (mask[i] != 0) to[i] = function(from[i]);
  }
  return hn::Load(d, to);
}

// Sine and cosine are reduced exactly enough up to here.
constexpr double kReduced = 30000;

struct Sin {
  static HWY_ATTR Vector of(Wide d, Vector x) {
    const auto far = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, kReduced)));
    const Vector y = hn::Sin(d, hn::IfThenZeroElse(far, x));
    // Highway gives no -0.
    const Vector signed_y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
    if (hn::AllFalse(d, far)) return signed_y;
    return by_libm(d, far, x, signed_y, [](double each) { return std::sin(each); });
  }
};
struct Cos {
  static HWY_ATTR Vector of(Wide d, Vector x) {
    const auto far = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, kReduced)));
    const Vector y = hn::Cos(d, hn::IfThenZeroElse(far, x));
    return hn::AllFalse(d, far) ? y : by_libm(d, far, x, y, [](double each) { return std::cos(each); });
  }
};
struct Tan {
  static HWY_ATTR Vector of(Wide d, Vector x) { return hn::Div(Sin::of(d, x), Cos::of(d, x)); }
};

// |x| ^ y for f32 operands: beyond these exponents f32 has only zero and infinity.
HWY_ATTR Vector magnitude_power(Wide d, Vector size, Vector exponent) {
  const Vector infinity = hn::Inf(d), one = hn::Set(d, 1.0), limit = hn::Set(d, 200.0);
  Vector logarithm = hn::Log(d, size);
  logarithm = hn::IfThenElse(hn::Eq(size, hn::Zero(d)), hn::Neg(infinity), logarithm);
  logarithm = hn::IfThenElse(hn::Eq(size, infinity), infinity, logarithm);
  Vector product = hn::Mul(logarithm, exponent);
  product = hn::IfThenElse(hn::Gt(product, limit), limit, product);
  product = hn::IfThenElse(hn::Lt(product, hn::Neg(limit)), hn::Neg(limit), product);
  const Vector y = hn::Exp(d, product);
  return hn::IfThenElse(hn::Eq(size, one), one, y);
}

struct Pow {
  static HWY_ATTR Vector of(Wide d, Vector base, Vector exponent) {
    const Vector zero = hn::Zero(d), one = hn::Set(d, 1.0), half = hn::Mul(exponent, hn::Set(d, 0.5));
    const Vector size = magnitude_power(d, hn::Abs(base), exponent);
    const auto is_whole = hn::Eq(hn::Floor(exponent), exponent);
    const auto is_odd = hn::And(is_whole, hn::Ne(hn::Floor(half), half));
    const Vector sign = hn::IfThenElseZero(is_odd, hn::And(base, hn::SignBit(d)));
    Vector y = hn::Or(size, sign);
    // A negative base has only whole powers.
    const auto has_none =
        hn::And(hn::And(hn::Lt(base, zero), hn::Gt(base, hn::Neg(hn::Inf(d)))), hn::Not(is_whole));
    y = hn::IfThenElse(hn::Or(has_none, hn::Or(hn::IsNaN(base), hn::IsNaN(exponent))), hn::NaN(d), y);
    return hn::IfThenElse(hn::Or(hn::Eq(exponent, zero), hn::Eq(base, one)), one, y);
  }
};

// Both ends of the exponential, with arguments that leave room in f64.
HWY_ATTR Vector bounded(Wide d, Vector x) {
  const Vector limit = hn::Set(d, 200.0);
  const Vector above = hn::IfThenElse(hn::Lt(x, hn::Neg(limit)), hn::Neg(limit), x);
  return hn::IfThenElse(hn::Gt(above, limit), limit, above);
}
HWY_ATTR Vector keep_nan(Vector x, Vector y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

struct Cosh {
  static HWY_ATTR Vector of(Wide d, Vector x) {
    const Vector e = hn::Exp(d, bounded(d, hn::Abs(x)));
    return keep_nan(x, hn::Mul(hn::Set(d, 0.5), hn::Add(e, hn::Div(hn::Set(d, 1.0), e))));
  }
};
struct Sinh {
  static HWY_ATTR Vector of(Wide d, Vector x) { return keep_nan(x, hn::Sinh(d, bounded(d, x))); }
};
struct Atan {
  static HWY_ATTR Vector of(Wide d, Vector x) { return keep_nan(x, hn::Atan(d, x)); }
};
struct Asin {
  static HWY_ATTR Vector of(Wide d, Vector x) {
    return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, 1.0)), hn::Asin(d, x), hn::NaN(d));
  }
};
struct Acos {
  static HWY_ATTR Vector of(Wide d, Vector x) {
    return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, 1.0)), hn::Acos(d, x), hn::NaN(d));
  }
};

}  // namespace

Loop find_wide_function_loop(std::string_view op) {
  static constexpr NamedLoop kLoops[] = {
      {"Sin", wide_unary<Sin>},   {"Cos", wide_unary<Cos>},   {"Tan", wide_unary<Tan>},
      {"Pow", wide_binary<Pow>},  {"Cosh", wide_unary<Cosh>}, {"Sinh", wide_unary<Sinh>},
      {"Atan", wide_unary<Atan>}, {"Asin", wide_unary<Asin>}, {"Acos", wide_unary<Acos>},
  };
  return find(kLoops, op);
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_wide_function_loop);

Loop wide_function_loop(std::string_view op) {
  return HWY_DYNAMIC_DISPATCH(find_wide_function_loop)(op);
}

}  // namespace vernier::cpu
#endif
