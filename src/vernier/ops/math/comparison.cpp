// Equal, Less, Greater, LessOrEqual, GreaterOrEqual, to BOOL; Equal takes strings since opset 19. Before
// opset 7 broadcasting is as legacy_broadcast.h has it. Followed where the sizes decide the answer.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/legacy_broadcast.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

using Truth = std::optional<Dim>;

Truth truth_of(bool yes, bool no) {
  if (yes) return Dim(1);
  return no ? Truth(0) : std::nullopt;
}

Truth is_equal(const Dim& a, const Dim& b) {
  return truth_of(a == b, proven_positive(a - b) || proven_positive(b - a));
}
Truth is_less(const Dim& a, const Dim& b) {
  return truth_of(proven_positive(b - a), proven_positive(a - b + 1));
}

struct Equal {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  static Truth follow(const Dim& a, const Dim& b) { return is_equal(a, b); }
};

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
  static Truth follow(const Dim& a, const Dim& b) { return is_less(a, b); }
};

struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
  static Truth follow(const Dim& a, const Dim& b) { return is_less(b, a); }
};

struct LessOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
  static Truth follow(const Dim& a, const Dim& b) { return is_less(a, b + 1); }
};

struct GreaterOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
  static Truth follow(const Dim& a, const Dim& b) { return is_less(b, a + 1); }
};

template <class Op>
void infer_comparison(InferContext& context) {
  infer_binary(context, ElementType::kBool);
  follow_binary(context, Op::follow);
}

template <class Op>
void reference_comparison(ReferenceContext& context) {
  zip_predicate(context, Op(), legacy_dims(context));
}

void equal(ReferenceContext& context) {
  const Tensor &a = context.in(0), &b = context.in(1);
  if (a.type() != ElementType::kString || b.type() != ElementType::kString)
    return reference_comparison<Equal>(context);
  const Elements<std::string> left(a.values<std::string>(), a), right(b.values<std::string>(), b);
  const Dims out = broadcast(a.dims(), b.dims());
  context.store_ints(0, out, zip<int64_t>(left, a.dims(), right, b.dims(), out, Equal()));
}

template <class Op>
void add(OpRegistry& registry, const char* name, void (*reference_comparison)(ReferenceContext&)) {
  registry.add({.op = name,
                .operands = {Role::kData, Role::kData},
                .attributes = {{"axis", "INT"}, {"broadcast", "INT"}},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_comparison<Op>,
                .reference = reference_comparison});
}

}  // namespace

void register_comparison(OpRegistry& registry) {
  add<Equal>(registry, "Equal", equal);
  add<Less>(registry, "Less", reference_comparison<Less>);
  add<Greater>(registry, "Greater", reference_comparison<Greater>);
  add<LessOrEqual>(registry, "LessOrEqual", reference_comparison<LessOrEqual>);
  add<GreaterOrEqual>(registry, "GreaterOrEqual", reference_comparison<GreaterOrEqual>);
}

}  // namespace vernier::ops
