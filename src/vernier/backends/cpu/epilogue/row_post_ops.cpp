#include "vernier/backends/cpu/epilogue/row_post_ops.h"

#include "vernier/backends/cpu/epilogue/activation_epilogue.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/epilogue/row_post_ops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/pointwise/functions-inl.h"
#include "vernier/backends/cpu/vectors/gate_vectors-inl.h"
#include "vernier/backends/cpu/vectors/storage_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

using Kind = PostOp::Kind;
using Parameters = Attributes<Floats>;

// Gives NaN for NaN and a number, as ONNX has it.
HWY_INLINE Vec larger(Vec a, Vec b) {
  return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
}
HWY_INLINE Vec smaller(Vec a, Vec b) {
  return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
}

HWY_INLINE Vec clip(Vec x, Vec low, Vec high) {
  const Vec above = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(above, high), high, above);
}

HWY_INLINE Vec hard_swish(Vec x) {
  const Floats d;
  const Vec gate = hn::MulAdd(x, hn::Set(d, 1.0F / 6), hn::Set(d, 0.5F));
  return hn::Mul(x, clip(gate, hn::Zero(d), hn::Set(d, 1.0F)));
}

HWY_INLINE void* row_of(const Rows& rows, int64_t row) {
  return static_cast<std::byte*>(rows.to) +
         row * rows.to_stride * static_cast<int64_t>(element_size(rows.type));
}

// x * Phi(x), for results that are rounded to fewer digits.
HWY_INLINE Vec short_gelu(Vec x) {
  const Floats d;
  const Vec t = hn::Min(hn::Mul(x, x), hn::Set(d, kGeluMost));
  Vec sum = hn::Set(d, kGeluGate.back());
  for (size_t i = kGeluGate.size() - 1; i > 0; --i) sum = hn::MulAdd(sum, t, hn::Set(d, kGeluGate[i - 1]));
  return hn::Mul(x, gate(hn::Mul(x, sum)));
}

// Floats are what most rows hold: their type is known to the compiler.
template <class F>
HWY_INLINE void map(const Rows& rows, const F& f) {
  const auto each_row = [&](ElementType type) HWY_ATTR {
    for (int64_t row = 0; row < rows.count; ++row) {
      const float* from = rows.from + row * rows.from_stride;
      void* to = row_of(rows, row);
      for_each_stored(rows.columns, [&](int64_t i, const auto& vector) HWY_ATTR {
        vector.store(f(vector.load(ElementType::kFloat, from, i)), type, to, i);
      });
    }
  };
  rows.type == ElementType::kFloat ? each_row(ElementType::kFloat) : each_row(rows.type);
}

// f(x, operand).
template <class F>
HWY_INLINE void combine(const RowPost& post, const Rows& rows, const void* operand, int64_t stride,
                        const F& f) {
  if (post.operand == RowPost::Operand::kScalar) {
    const Vec same = hn::Set(Floats(), hn::GetLane(PartialVector{1}.load(post.element, operand, 0)));
    return map(rows, [&](Vec x) HWY_ATTR { return f(x, same); });
  }
  const auto each_row = [&](ElementType type, ElementType element) HWY_ATTR {
    for (int64_t row = 0; row < rows.count; ++row) {
      const float* from = rows.from + row * rows.from_stride;
      void* to = row_of(rows, row);
      for_each_stored(rows.columns, [&](int64_t i, const auto& vector) HWY_ATTR {
        const Vec other = vector.load(element, operand, row * stride + i);
        vector.store(f(vector.load(ElementType::kFloat, from, i), other), type, to, i);
      });
    }
  };
  const bool floats = rows.type == ElementType::kFloat && post.element == ElementType::kFloat;
  floats ? each_row(ElementType::kFloat, ElementType::kFloat) : each_row(rows.type, post.element);
}

template <class Op>
HWY_INLINE void map_op(const Rows& rows, const Parameters& parameters) {
  const Floats d;
  map(rows, [&](Vec x) HWY_ATTR { return Op::of(d, x, parameters); });
}

void map_post(const PostOp& post, const Rows& rows) {
  const Floats d;
  const Parameters parameters(d, {.to = nullptr,
                                  .a = nullptr,
                                  .b = nullptr,
                                  .c = nullptr,
                                  .count = 0,
                                  .alpha = post.alpha,
                                  .beta = post.beta,
                                  .fault = nullptr});
  const Vec zero = hn::Zero(d), alpha = parameters.alpha, beta = parameters.beta;
  switch (post.kind) {
    case Kind::kRelu:  // of the least infinity 0, not 0 times it
      if (post.alpha == 0)
        return map(rows, [&](Vec x) HWY_ATTR { return hn::IfThenZeroElse(hn::Lt(x, zero), x); });
      return map(rows, [&](Vec x) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x); });
    case Kind::kClip: return map(rows, [&](Vec x) HWY_ATTR { return clip(x, alpha, beta); });
    case Kind::kLinear: return map(rows, [&](Vec x) HWY_ATTR { return hn::Add(hn::Mul(alpha, x), beta); });
    case Kind::kSigmoid:
      return map(rows, [](Vec x) HWY_ATTR { return hn::IfThenElse(hn::IsNaN(x), x, gate(x)); });
    case Kind::kTanh: return map_op<TanhOp>(rows, parameters);
    case Kind::kElu: return map_op<EluOp>(rows, parameters);
    case Kind::kGeluErf:
      if (rows.type != ElementType::kFloat) return map(rows, [](Vec x) HWY_ATTR { return short_gelu(x); });
      return map_op<GeluOp>(rows, parameters);
    case Kind::kGeluTanh: return map_op<GeluTanhOp>(rows, parameters);
    case Kind::kSwish: return map(rows, [&](Vec x) HWY_ATTR { return swish(alpha, x); });
    case Kind::kHardSwish: return map(rows, [](Vec x) HWY_ATTR { return hard_swish(x); });
    case Kind::kAbs: return map(rows, [](Vec x) HWY_ATTR { return hn::Abs(x); });
    case Kind::kSqrt: return map(rows, [](Vec x) HWY_ATTR { return hn::Sqrt(x); });
    case Kind::kExp: return map_op<ExpOp>(rows, parameters);
    default: return map(rows, [](Vec x) HWY_ATTR { return x; });
  }
}

}  // namespace

void apply_post_here(const RowPost& each, const Rows& rows, const void* operand, int64_t stride) {
  const auto with = [&](const auto& f) HWY_ATTR { combine(each, rows, operand, stride, f); };
  const Vec least = each.relu ? hn::Zero(Floats()) : hn::Neg(hn::Inf(Floats()));
  switch (each.post.kind) {
    case Kind::kAdd:
      return with([least](Vec x, Vec y) HWY_ATTR {
        const Vec sum = hn::Add(x, y);
        return hn::IfThenElse(hn::Lt(sum, least), least, sum);
      });
    case Kind::kSubtract: return with([](Vec x, Vec y) HWY_ATTR { return hn::Sub(x, y); });
    case Kind::kMultiply: return with([](Vec x, Vec y) HWY_ATTR { return hn::Mul(x, y); });
    case Kind::kDivide: return with([](Vec x, Vec y) HWY_ATTR { return hn::Div(x, y); });
    case Kind::kMax: return with([](Vec x, Vec y) HWY_ATTR { return larger(x, y); });
    case Kind::kMin: return with([](Vec x, Vec y) HWY_ATTR { return smaller(x, y); });
    default: return map_post(each.post, rows);
  }
}

void store_rows_here(const Rows& rows) {
  map(rows, [](Vec x) HWY_ATTR { return x; });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(apply_post_here);
HWY_EXPORT(store_rows_here);

void apply_post(const RowPost& post, const Rows& rows, const void* operand, int64_t operand_stride) {
  HWY_DYNAMIC_DISPATCH(apply_post_here)(post, rows, operand, operand_stride);
}

void store_rows(const Rows& rows) {
  HWY_DYNAMIC_DISPATCH(store_rows_here)(rows);
}

}  // namespace vernier::cpu
#endif
