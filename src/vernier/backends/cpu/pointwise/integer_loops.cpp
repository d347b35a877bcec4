// Integers and bool: arithmetic that wraps, bits, logic.
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/wrapping.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/integer_loops.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return ops::wrapping_add(a, b);
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return ops::wrapping_subtract(a, b);
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    return ops::wrapping_multiply(a, b);
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a >= b ? a : b;
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return a <= b ? a : b;
  }
};
struct PRelu {
  template <class T>
  static T of(T x, T slope) {
    return x < 0 ? ops::wrapping_multiply(slope, x) : x;
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// By a negative amount, or by all bits or more, only copies of what is shifted in are left.
struct ShiftLeft {
  template <class T>
  static T of(T x, T amount) {
    const bool outside = amount < 0 || static_cast<uint64_t>(amount) >= 8 * sizeof(T);
    return outside ? T{0} : static_cast<T>(static_cast<uint64_t>(x) << amount);
  }
};
struct ShiftRight {
  template <class T>
  static T of(T x, T amount) {
    const bool outside = amount < 0 || static_cast<uint64_t>(amount) >= 8 * sizeof(T);
    if (std::is_signed_v<T>)
      return static_cast<T>(x >> (outside ? static_cast<T>(8 * sizeof(T) - 1) : amount));
    return outside ? T{0} : static_cast<T>(x >> amount);
  }
};

struct Neg {
  template <class T>
  static T of(T x) {
    return ops::wrapping_subtract(T{0}, x);
  }
};
struct Abs {
  template <class T>
  static T of(T x) {
    return ops::magnitude(x);
  }
};
struct Sign {
  template <class T>
  static T of(T x) {
    return static_cast<T>((x > 0) - (x < 0));
  }
};
struct Relu {
  template <class T>
  static T of(T x) {
    return x < 0 ? T{0} : x;
  }
};
struct Invert {
  template <class T>
  static T of(T x) {
    return static_cast<T>(~x);
  }
};
struct Not {
  static uint8_t of(uint8_t x) { return x == 0; }
};

// Operators that some operands have no value for: element by element, without touching what lies behind the
// last one.
template <class T, class F>
void each_checked(const LoopArguments& x) {
  const auto *a = static_cast<const T*>(x.a), *b = static_cast<const T*>(x.b);
  auto* to = static_cast<T*>(x.to);
  for (int64_t i = 0; i < x.count; ++i) to[i] = F::of(a[i], b[i], *x.fault);
}

// Towards zero; the smallest integer divided by -1 wraps.
struct Divide {
  template <class T>
  static T of(T a, T b, bool& fault) {
    if (b == 0) return fault = true, T{0};
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return ops::wrapping_subtract(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct TruncatedModulo {
  template <class T>
  static T of(T a, T b, bool& fault) {
    if (b == 0) return fault = true, T{0};
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct FlooredModulo {
  template <class T>
  static T of(T a, T b, bool& fault) {
    const T rest = TruncatedModulo::of(a, b, fault);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};
struct Power {
  template <class T>
  static T of(T base, T exponent, bool& fault) {
    if (exponent < 0) {
      if (base == 0) return fault = true, T{0};
      if (base == 1) return 1;
      if (base != static_cast<T>(-1)) return 0;
      return static_cast<T>(exponent % 2 == 0 ? 1 : -1);
    }
    T result = 1;
    for (T factor = base; exponent != 0; exponent = static_cast<T>(exponent / 2)) {
      if (exponent % 2 != 0) result = ops::wrapping_multiply(result, factor);
      factor = ops::wrapping_multiply(factor, factor);
    }
    return result;
  }
};

template <class T>
Loop loop_of(std::string_view op) {
  static constexpr NamedLoop kLoops[] = {
      {"Add", each_pair<T, Add, T>},
      {"Sub", each_pair<T, Subtract, T>},
      {"Mul", each_pair<T, Multiply, T>},
      {"Div", each_checked<T, Divide>},
      {"Mod", each_checked<T, FlooredModulo>},
      {"Fmod", each_checked<T, TruncatedModulo>},
      {"Pow", each_checked<T, Power>},
      {"Max", each_pair<T, Max, T>},
      {"Min", each_pair<T, Min, T>},
      {"PRelu", each_pair<T, PRelu, T>},
      {"BitwiseAnd", each_pair<T, And, T>},
      {"BitwiseOr", each_pair<T, Or, T>},
      {"BitwiseXor", each_pair<T, Xor, T>},
      {"ShiftLeft", each_pair<T, ShiftLeft, T>},
      {"ShiftRight", each_pair<T, ShiftRight, T>},
      {"Neg", each<T, Neg, T>},
      {"Abs", each<T, Abs, T>},
      {"Sign", each<T, Sign, T>},
      {"Relu", each<T, Relu, T>},
      {"BitwiseNot", each<T, Invert, T>},
  };
  return find(kLoops, op);
}

// BOOL is a byte that is 0 or 1.
Loop logic_loop(std::string_view op) {
  static constexpr NamedLoop kLoops[] = {
      {"And", each_pair<uint8_t, And, uint8_t>},
      {"Or", each_pair<uint8_t, Or, uint8_t>},
      {"Xor", each_pair<uint8_t, Xor, uint8_t>},
      {"Not", each<uint8_t, Not, uint8_t>},
  };
  return find(kLoops, op);
}

}  // namespace

Loop find_integer_loop(std::string_view op, ElementType type) {
  switch (type) {
    case ElementType::kBool: return logic_loop(op);
    case ElementType::kInt8: return loop_of<int8_t>(op);
    case ElementType::kUint8: return loop_of<uint8_t>(op);
    case ElementType::kInt16: return loop_of<int16_t>(op);
    case ElementType::kUint16: return loop_of<uint16_t>(op);
    case ElementType::kInt32: return loop_of<int32_t>(op);
    case ElementType::kUint32: return loop_of<uint32_t>(op);
    case ElementType::kInt64: return loop_of<int64_t>(op);
    case ElementType::kUint64: return loop_of<uint64_t>(op);
    default: return nullptr;
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_integer_loop);

Loop integer_loop(std::string_view op, ElementType type) {
  return HWY_DYNAMIC_DISPATCH(find_integer_loop)(op, type);
}

}  // namespace vernier::cpu
#endif
