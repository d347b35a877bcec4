#include "vernier/backends/cpu/kernels/row_epilogue.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/kernels/row_epilogue.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "vernier/backends/cpu/kernels/float_vectors-inl.h"
#include "vernier/backends/cpu/pointwise/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace {

using Kind = PostOp::Kind;
using Parameters = Attributes<Floats>;

// Of NaN and a number NaN, as ONNX has it.
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

template <class F>
HWY_INLINE void map(const Rows& rows, const F& f) {
  for (int64_t row = 0; row < rows.count; ++row) {
    const float* from = rows.from + row * rows.from_stride;
    float* to = rows.to + row * rows.to_stride;
    for_each_vector(rows.columns, [&](int64_t i, const auto& load, const auto& store)
                                      HWY_ATTR { store(f(load(from + i)), to + i); });
  }
}

// f(x, operand).
template <class F>
HWY_INLINE void combine(const Rows& rows, const float* operand, int64_t stride, bool is_scalar, const F& f) {
  const Floats d;
  if (is_scalar) {
    const Vec same = hn::Set(d, *operand);
    return map(rows, [&](Vec x) HWY_ATTR { return f(x, same); });
  }
  for (int64_t row = 0; row < rows.count; ++row) {
    const float* from = rows.from + row * rows.from_stride;
    const float* other = operand + row * stride;
    float* to = rows.to + row * rows.to_stride;
    for_each_vector(rows.columns, [&](int64_t i, const auto& load, const auto& store)
                                      HWY_ATTR { store(f(load(from + i), load(other + i)), to + i); });
  }
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
    case Kind::kRelu:
      return map(rows, [&](Vec x) HWY_ATTR { return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(alpha, x), x); });
    case Kind::kClip: return map(rows, [&](Vec x) HWY_ATTR { return clip(x, alpha, beta); });
    case Kind::kLinear: return map(rows, [&](Vec x) HWY_ATTR { return hn::Add(hn::Mul(alpha, x), beta); });
    case Kind::kSigmoid: return map_op<SigmoidOp>(rows, parameters);
    case Kind::kTanh: return map_op<TanhOp>(rows, parameters);
    case Kind::kElu: return map_op<EluOp>(rows, parameters);
    case Kind::kGeluErf: return map_op<GeluOp>(rows, parameters);
    case Kind::kGeluTanh: return map_op<GeluTanhOp>(rows, parameters);
    case Kind::kSwish: return map_op<SwishOp>(rows, parameters);
    case Kind::kHardSwish: return map(rows, [](Vec x) HWY_ATTR { return hard_swish(x); });
    case Kind::kAbs: return map(rows, [](Vec x) HWY_ATTR { return hn::Abs(x); });
    case Kind::kSqrt: return map(rows, [](Vec x) HWY_ATTR { return hn::Sqrt(x); });
    case Kind::kExp: return map_op<ExpOp>(rows, parameters);
    default: return map(rows, [](Vec x) HWY_ATTR { return x; });
  }
}

}  // namespace

void apply_post_here(const RowPost& each, const Rows& rows, const float* operand, int64_t stride) {
  const bool is_scalar = each.operand == RowPost::Operand::kScalar;
  const auto with = [&](const auto& f) HWY_ATTR { combine(rows, operand, stride, is_scalar, f); };
  switch (each.post.kind) {
    case Kind::kAdd: return with([](Vec x, Vec y) HWY_ATTR { return hn::Add(x, y); });
    case Kind::kSubtract: return with([](Vec x, Vec y) HWY_ATTR { return hn::Sub(x, y); });
    case Kind::kMultiply: return with([](Vec x, Vec y) HWY_ATTR { return hn::Mul(x, y); });
    case Kind::kDivide: return with([](Vec x, Vec y) HWY_ATTR { return hn::Div(x, y); });
    case Kind::kMax: return with([](Vec x, Vec y) HWY_ATTR { return larger(x, y); });
    case Kind::kMin: return with([](Vec x, Vec y) HWY_ATTR { return smaller(x, y); });
    default: return map_post(each.post, rows);
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(apply_post_here);

namespace {

std::optional<RowPost::Operand> operand_kind(const Operand& operand, const Operand& y, size_t columns_axis) {
  if (operand.element != ElementType::kFloat || operand.rank() > y.rank()) return std::nullopt;
  if (operand.size() == 1) return RowPost::Operand::kScalar;
  if (operand.dims == y.dims && operand.layout == y.layout) return RowPost::Operand::kRows;
  const int64_t columns = y.dims[columns_axis];
  const auto axis = static_cast<int64_t>(columns_axis) - (y.rank() - operand.rank());
  if (axis < 0 || operand.size() != columns || operand.dims[static_cast<size_t>(axis)] != columns)
    return std::nullopt;
  return RowPost::Operand::kRow;
}

}  // namespace

std::optional<std::vector<RowPost>> row_posts(const Fused& fused, const KernelRequest& request,
                                              size_t columns_axis) {
  std::vector<RowPost> posts;
  for (const PostOp& post : fused.posts) {
    posts.push_back({post});
    if (post.operand < 0) continue;
    const auto kind =
        operand_kind(request.in(static_cast<size_t>(post.operand)), request.out(), columns_axis);
    if (!kind) return std::nullopt;
    posts.back().operand = *kind;
  }
  return posts;
}

const Tensor* take_row_bias(std::vector<RowPost>& posts, const KernelRequest& request) {
  if (posts.empty() || posts[0].post.kind != PostOp::Kind::kAdd || posts[0].operand != RowPost::Operand::kRow)
    return nullptr;
  const Tensor* content = request.in(static_cast<size_t>(posts[0].post.operand)).constant;
  if (content != nullptr) posts.erase(posts.begin());
  return content;
}

bool is_approximate(const std::vector<RowPost>& posts) {
  return std::any_of(posts.begin(), posts.end(), [](const RowPost& each) {
    return each.post.kind >= PostOp::Kind::kSigmoid && each.post.kind <= PostOp::Kind::kSwish;
  });
}

void apply_post(const RowPost& post, const Rows& rows, const float* operand, int64_t operand_stride) {
  HWY_DYNAMIC_DISPATCH(apply_post_here)(post, rows, operand, operand_stride);
}

}  // namespace vernier::cpu
#endif
