// Arithmetic of f32 and f64: operators that are exact or round once.
#include "vernier/backends/cpu/pointwise/loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/float_loops.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

struct Add {
  template <class D, class V>
  static HWY_ATTR V of(D, V a, V b) {
    return hn::Add(a, b);
  }
};
struct Subtract {
  template <class D, class V>
  static HWY_ATTR V of(D, V a, V b) {
    return hn::Sub(a, b);
  }
};
struct Multiply {
  template <class D, class V>
  static HWY_ATTR V of(D, V a, V b) {
    return hn::Mul(a, b);
  }
};
struct Divide {
  template <class D, class V>
  static HWY_ATTR V of(D, V a, V b) {
    return hn::Div(a, b);
  }
};
// A NaN wins, wherever it comes from.
struct Max {
  template <class D, class V>
  static HWY_ATTR V of(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
  }
};
struct Min {
  template <class D, class V>
  static HWY_ATTR V of(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
  }
};
struct PRelu {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, V slope) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(slope, x), x);
  }
};

struct Neg {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>&) {
    return hn::Neg(x);
  }
};
struct Abs {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>&) {
    return hn::Abs(x);
  }
};
struct Sign {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    const V sign = hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), hn::IfThenElseZero(hn::Gt(x, zero), one));
    return hn::IfThenElse(hn::IsNaN(x), x, sign);
  }
};
struct SquareRoot {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>&) {
    return hn::Sqrt(x);
  }
};
struct Reciprocal {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return hn::Div(hn::Set(d, 1), x);
  }
};
struct Floor {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>&) {
    return hn::Floor(x);
  }
};
struct Ceil {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>&) {
    return hn::Ceil(x);
  }
};
struct Round {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>&) {
    return hn::Round(x);
  }
};
struct Relu {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x);
  }
};
struct LeakyRelu {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>& attributes) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(attributes.alpha, x), x);
  }
};
struct ThresholdedRelu {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>& attributes) {
    return hn::IfThenElseZero(hn::Gt(x, attributes.alpha), x);
  }
};
// alpha is the threshold, beta the bias.
struct Shrink {
  template <class D, class V>
  static HWY_ATTR V of(D, V x, const Attributes<D>& attributes) {
    const V above = hn::IfThenElseZero(hn::Gt(x, attributes.alpha), hn::Sub(x, attributes.beta));
    return hn::IfThenElse(hn::Lt(x, hn::Neg(attributes.alpha)), hn::Add(x, attributes.beta), above);
  }
};

// Between 0 and 1; a NaN stays.
template <class D, class V>
HWY_ATTR V unit_clamp(D d, V x) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1);
  return hn::IfThenElse(hn::Gt(x, one), one, hn::IfThenZeroElse(hn::Lt(x, zero), x));
}
struct HardSigmoid {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>& attributes) {
    return unit_clamp(d, hn::MulAdd(attributes.alpha, x, attributes.beta));
  }
};
struct HardSwish {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return hn::Mul(x, unit_clamp(d, hn::Div(hn::Add(x, hn::Set(d, 3)), hn::Set(d, 6))));
  }
};
struct Softsign {
  template <class D, class V>
  static HWY_ATTR V of(D d, V x, const Attributes<D>&) {
    return hn::Div(x, hn::Add(hn::Set(d, 1), hn::Abs(x)));
  }
};

template <class T>
Loop loop_of(std::string_view op) {
  static constexpr NamedLoop kLoops[] = {
      {"Add", binary<T, Add>},
      {"Sub", binary<T, Subtract>},
      {"Mul", binary<T, Multiply>},
      {"Div", binary<T, Divide>},
      {"Max", binary<T, Max>},
      {"Min", binary<T, Min>},
      {"PRelu", binary<T, PRelu>},
      {"Neg", unary<T, Neg>},
      {"Abs", unary<T, Abs>},
      {"Sign", unary<T, Sign>},
      {"Sqrt", unary<T, SquareRoot>},
      {"Reciprocal", unary<T, Reciprocal>},
      {"Floor", unary<T, Floor>},
      {"Ceil", unary<T, Ceil>},
      {"Round", unary<T, Round>},
      {"Relu", unary<T, Relu>},
      {"LeakyRelu", unary<T, LeakyRelu>},
      {"ThresholdedRelu", unary<T, ThresholdedRelu>},
      {"Shrink", unary<T, Shrink>},
      {"HardSigmoid", unary<T, HardSigmoid>},
      {"HardSwish", unary<T, HardSwish>},
      {"Softsign", unary<T, Softsign>},
  };
  return find(kLoops, op);
}

}  // namespace

Loop find_float_loop(std::string_view op, ElementType type) {
  if (type == ElementType::kFloat) return loop_of<float>(op);
  return type == ElementType::kDouble ? loop_of<double>(op) : nullptr;
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_float_loop);

Loop float_loop(std::string_view op, ElementType type) {
  return HWY_DYNAMIC_DISPATCH(find_float_loop)(op, type);
}

}  // namespace vernier::cpu
#endif
