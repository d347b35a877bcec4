#include "vernier/backends/cpu/kernels/row_epilogue.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/row_epilogue.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/activation_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

using Kind = PostOp::Kind;

// Of NaN and a number NaN, as ONNX has it.
HWY_INLINE Vec larger(Vec a, Vec b) {
  return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
}
HWY_INLINE Vec smaller(Vec a, Vec b) {
  return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
}

HWY_INLINE Vec compute(Kind kind, Vec x, Vec operand, Vec alpha, Vec beta) {
  const Floats d;
  const Vec zero = hn::Zero(d);
  switch (kind) {
    case Kind::kRelu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x);
    case Kind::kClip: {
      const Vec above = hn::IfThenElse(hn::Lt(x, alpha), alpha, x);
      return hn::IfThenElse(hn::Gt(above, beta), beta, above);
    }
    case Kind::kLinear: return hn::Add(hn::Mul(alpha, x), beta);
    case Kind::kSigmoid: return sigmoid(x);
    case Kind::kTanh: return tanh(x);
    case Kind::kElu: return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, expm1(d, x)), x);
    case Kind::kSwish: return hn::Mul(x, sigmoid(hn::Mul(alpha, x)));
    case Kind::kAbs: return hn::Abs(x);
    case Kind::kSqrt: return hn::Sqrt(x);
    case Kind::kExp: return exp(d, x);
    case Kind::kAdd: return hn::Add(x, operand);
    case Kind::kSubtract: return hn::Sub(x, operand);
    case Kind::kMultiply: return hn::Mul(x, operand);
    case Kind::kDivide: return hn::Div(x, operand);
    case Kind::kMax: return larger(x, operand);
    case Kind::kMin: return smaller(x, operand);
    default: return x;
  }
}

}  // namespace

void apply_post_here(const PostOp& post, const float* from, int64_t count, const float* operand,
                     bool is_scalar, float* to) {
  const Floats d;
  const Vec alpha = hn::Set(d, post.alpha), beta = hn::Set(d, post.beta),
            same = is_scalar ? hn::Set(d, *operand) : hn::Zero(d);
  const bool each = operand != nullptr && !is_scalar;
  const Kind kind = post.kind;
  for_each_vector(count, [&](int64_t i, const auto& load, const auto& store) HWY_ATTR {
    store(compute(kind, load(from + i), each ? load(operand + i) : same, alpha, beta), to + i);
  });
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(apply_post_here);

bool is_row_post(PostOp::Kind kind) {
  return kind != PostOp::Kind::kGeluErf && kind != PostOp::Kind::kGeluTanh &&
         kind != PostOp::Kind::kHardSwish;
}

void apply_post(const PostOp& post, const float* from, int64_t count, const float* operand, bool is_scalar,
                float* to) {
  HWY_DYNAMIC_DISPATCH(apply_post_here)(post, from, count, operand, is_scalar, to);
}

}  // namespace vernier::cpu
#endif
