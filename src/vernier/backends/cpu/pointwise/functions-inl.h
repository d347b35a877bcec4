// Functions of vectors of f32: exponentials, and what is made of them, within a few ulp over the whole range,
// denormals, infinities and NaN included. Included once for each instruction set.
#if defined(VERNIER_FUNCTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VERNIER_FUNCTIONS_INL
#undef VERNIER_FUNCTIONS_INL
#else
#define VERNIER_FUNCTIONS_INL
#endif

// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "vernier/backends/cpu/pointwise/loops-inl.h"
#include "vernier/backends/cpu/pointwise/exponential-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

struct ExpOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return exp(d, x);
  }
};

struct LogOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    const V zero = hn::Zero(d), infinity = hn::Inf(d);
    const V inside = hn::IfThenElse(hn::Eq(x, infinity), x, hn::Log(d, x));
    const V outside = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::NaN(d));
    return hn::IfThenElse(hn::Gt(x, zero), inside, outside);
  }
};

struct TanhOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return tanh(d, x);
  }
};

struct SigmoidOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return sigmoid(d, x);
  }
};

// x * e; NaN for an infinite x and an e of zero.
template <class D, class V>
HWY_ATTR V times(D, V x, const ScaledExponential<D>& e) {
  return hn::Mul(e.head, hn::Mul(x, e.scale));
}

// x * sigmoid(gate) for e = exp(-|gate|).
template <class D, class V>
HWY_ATTR V gated(D d, V x, V gate, const ScaledExponential<D>& e) {
  const V below = times(d, x, e);
  return hn::Div(hn::IfThenElse(hn::Lt(gate, hn::Zero(d)), below, x), hn::Add(hn::Set(d, 1.0F), e.value()));
}

struct SwishOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>& attributes) {
    const auto e = exp_of_product(d, hn::Abs(attributes.alpha), hn::Abs(x));
    return gated(d, x, hn::Mul(attributes.alpha, x), e);
  }
};

struct SoftplusOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
    return hn::Add(positive, hn::Log1p(d, exp(d, hn::Neg(hn::Abs(x)))));
  }
};

// x * tanh(log(1 + exp(x))), as a quotient of polynomials in e = exp(-|x|).
struct MishOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    const V one = hn::Set(d, 1.0F), two = hn::Set(d, 2.0F);
    const auto scaled = scaled_exp(d, hn::Neg(hn::Abs(x)));
    const V e = scaled.value();
    const auto negative = hn::Lt(x, hn::Zero(d));
    const V below = hn::Mul(e, hn::Add(e, two)), above = hn::MulAdd(two, e, one);
    const V numerator =
        hn::IfThenElse(negative, hn::Mul(times(d, x, scaled), hn::Add(e, two)), hn::Mul(x, above));
    const V rest = hn::IfThenElse(negative, hn::Add(below, two), hn::MulAdd(hn::Mul(two, e), e, above));
    return hn::Div(numerator, rest);
  }
};

struct EluOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>& attributes) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(attributes.alpha, expm1(d, x)), x);
  }
};
struct SeluOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>& attributes) {
    const V below = hn::Mul(attributes.alpha, expm1(d, x));
    return hn::Mul(attributes.beta, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below));
  }
};
struct CeluOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>& attributes) {
    const V below = hn::Mul(attributes.alpha, expm1(d, hn::Div(x, attributes.alpha)));
    return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below);
  }
};

// The normal distribution beyond u >= 0 is exp(-u^2 / 2) * t * P(t), where t = 1 / (1 + 0.3 u). P was fitted
// to a relative error of 4e-9 on [0, 14.5], where the tail leaves the range of f32.
template <class D, class V>
HWY_ATTR V normal_tail_polynomial(D d, V u) {
  const V one = hn::Set(d, 1.0F);
  const V t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3F), u, one));
  constexpr float kCoefficients[] = {-0.02062344349F, 0.11243548216F, -0.22821330929F, 0.19178416887F,
                                     -0.07942320366F, 0.09615668642F, 0.07838969752F,  0.11023541496F,
                                     0.11957181501F,  0.11968668976F};
  return hn::Mul(t, horner(d, t, kCoefficients));
}

// x times the normal distribution up to x: near zero by a polynomial of x^2, fitted to 3e-10, farther out by
// the tail.
struct GeluOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    constexpr float kCoefficients[] = {-7.530305162e-6F, 1.131436447e-4F,  -1.185984697e-3F,
                                       9.97317093e-3F,   -6.649033235e-2F, 0.3989422787F};
    const V u = hn::Abs(x), half = hn::Set(d, 0.5F);
    const V near = hn::Mul(x, hn::MulAdd(x, horner(d, hn::Mul(x, x), kCoefficients), half));
    auto tail = exp_of_product(d, hn::Mul(half, u), u);
    tail.head = hn::Mul(tail.head, normal_tail_polynomial(d, u));
    const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
    const V far = hn::Sub(positive, times(d, u, tail));
    const V y = hn::IfThenElse(hn::Lt(u, hn::Set(d, 1.0F)), near, far);
    return hn::IfThenElse(hn::Gt(x, hn::Set(d, 20.0F)), x, y);
  }
};

struct ErfOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    const V one = hn::Set(d, 1.0F), size = hn::Abs(x), square = hn::Mul(x, x);
    // Fitted to a relative error of 1.2e-9 on [0, 1].
    constexpr float kCoefficients[] = {7.85402e-5F,     -8.010245915e-4F, 5.188334324e-3F, -2.685381599e-2F,
                                       0.112835852691F, -0.376126258396F, 0.12837916573F};
    const V small = hn::MulAdd(x, horner(d, square, kCoefficients), x);
    const V u = hn::Mul(size, hn::Set(d, 1.41421356F));
    const V tail = hn::Mul(exp(d, hn::Neg(square)), normal_tail_polynomial(d, u));
    const V large = hn::CopySign(hn::NegMulAdd(hn::Set(d, 2.0F), tail, one), x);
    return hn::IfThenElse(hn::Lt(size, one), small, large);
  }
};

// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the operator's 0.5 x (1 + tanh(…)).
struct GeluTanhOp {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    const V cubic = hn::Mul(hn::Mul(hn::Set(d, 0.0713548162726F), x), hn::Mul(x, x));
    const V inner = hn::MulAdd(hn::Set(d, 1.5957691216F), x, cubic);
    return gated(d, x, inner, scaled_exp(d, hn::Neg(hn::Abs(inner))));
  }
};

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
