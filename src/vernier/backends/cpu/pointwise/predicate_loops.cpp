// Comparisons and other questions, to BOOL, and the choice by one.
#include "vernier/backends/cpu/pointwise/loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/pointwise/predicate_loops.cpp"
// The next header is included once for each instruction set, so its place matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "vernier/backends/cpu/pointwise/loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

struct Equal {
  template <class T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <class T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a >= b;
  }
};

// alpha and beta say whether the negative and the positive one count.
template <class T>
void is_inf(const LoopArguments& x) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T negative = x.alpha != 0 ? -kInfinity : T{0}, positive = x.beta != 0 ? kInfinity : T{0};
  const auto* a = static_cast<const T*>(x.a);
  auto* to = static_cast<uint8_t*>(x.to);
  for (int64_t i = 0; i < x.count; ++i) to[i] = a[i] != 0 && (a[i] == negative || a[i] == positive);
}

struct IsNan {
  template <class T>
  static bool of(T x) {
    return x != x;
  }
};

template <class T>
Loop loop_of(std::string_view op) {
  static constexpr NamedLoop kLoops[] = {
      {"Equal", each_pair<uint8_t, Equal, T>},
      {"Less", each_pair<uint8_t, Less, T>},
      {"LessOrEqual", each_pair<uint8_t, LessOrEqual, T>},
      {"Greater", each_pair<uint8_t, Greater, T>},
      {"GreaterOrEqual", each_pair<uint8_t, GreaterOrEqual, T>},
  };
  return find(kLoops, op);
}

template <class T>
Loop float_loop_of(std::string_view op) {
  if (op == "IsNaN") return each<uint8_t, IsNan, T>;
  return op == "IsInf" ? is_inf<T> : loop_of<T>(op);
}

// Elements are chosen as bits.
template <class T>
void select(const LoopArguments& x) {
  const auto* condition = static_cast<const uint8_t*>(x.a);
  const auto *yes = static_cast<const T*>(x.b), *no = static_cast<const T*>(x.c);
  auto* to = static_cast<T*>(x.to);
  for (int64_t block = 0; block < x.count; block += kLoopBlock) {
    VERNIER_INDEPENDENT
    for (int64_t i = block; i < block + kLoopBlock; ++i) {
      const T mask = static_cast<T>(T{0} - static_cast<T>(condition[i]));
      to[i] = static_cast<T>(no[i] ^ ((yes[i] ^ no[i]) & mask));
    }
  }
}

}  // namespace

Loop find_predicate_loop(std::string_view op, ElementType type) {
  switch (type) {
    case ElementType::kFloat: return float_loop_of<float>(op);
    case ElementType::kDouble: return float_loop_of<double>(op);
    case ElementType::kBool:
    case ElementType::kUint8: return loop_of<uint8_t>(op);
    case ElementType::kInt8: return loop_of<int8_t>(op);
    case ElementType::kInt16: return loop_of<int16_t>(op);
    case ElementType::kUint16: return loop_of<uint16_t>(op);
    case ElementType::kInt32: return loop_of<int32_t>(op);
    case ElementType::kUint32: return loop_of<uint32_t>(op);
    case ElementType::kInt64: return loop_of<int64_t>(op);
    case ElementType::kUint64: return loop_of<uint64_t>(op);
    default: return nullptr;
  }
}

Loop find_select_loop(size_t bytes) {
  switch (bytes) {
    case 1: return select<uint8_t>;
    case 2: return select<uint16_t>;
    case 4: return select<uint32_t>;
    case 8: return select<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(find_predicate_loop);
HWY_EXPORT(find_select_loop);

Loop predicate_loop(std::string_view op, ElementType type) {
  return HWY_DYNAMIC_DISPATCH(find_predicate_loop)(op, type);
}
Loop select_loop(ElementType type) {
  return HWY_DYNAMIC_DISPATCH(find_select_loop)(element_size(type));
}

}  // namespace vernier::cpu
#endif
