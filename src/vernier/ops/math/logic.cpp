// And, Or, Xor, Not on BOOL. Before opset 7 broadcasting is as legacy_broadcast.h has it.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/legacy_broadcast.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

namespace {

struct And {
  bool operator()(int64_t a, int64_t b) const { return a != 0 && b != 0; }
};

struct Or {
  bool operator()(int64_t a, int64_t b) const { return a != 0 || b != 0; }
};

struct Xor {
  bool operator()(int64_t a, int64_t b) const { return (a != 0) != (b != 0); }
};

// Followed content of a BOOL tensor is always constant.
template <class Op>
void infer_logic(InferContext& context) {
  infer_binary(context, ElementType::kBool);
  follow_binary(context,
                [](const Dim& a, const Dim& b) { return Dim(Op()(*a.constant(), *b.constant()) ? 1 : 0); });
}

template <class Op>
void reference_logic(ReferenceContext& context) {
  const Dims right = legacy_dims(context);
  const Dims out = broadcast(context.dims(0), right);
  context.store_ints(0, out,
                     zip<int64_t>(context.ints(0), context.dims(0), context.ints(1), right, out, Op()));
}

void infer_not(InferContext& context) {
  context.set_output(0, ElementType::kBool, context.shape(0));
  follow_unary(context, [](const Dim& x) { return Dim(1) - x; });
}

template <class Op>
void add(OpRegistry& registry, const char* name) {
  registry.add({.op = name,
                .operands = {Role::kData, Role::kData},
                .attributes = {{"axis", "INT"}, {"broadcast", "INT"}},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_logic<Op>,
                .reference = reference_logic<Op>});
}

}  // namespace

void register_logic(OpRegistry& registry) {
  add<And>(registry, "And");
  add<Or>(registry, "Or");
  add<Xor>(registry, "Xor");
  registry.add({.op = "Not",
                .operands = {Role::kData},
                .traits = kPointwise,
                .since = kNoNarrowFloats,
                .infer = infer_not,
                .reference = [](ReferenceContext& context) {
                  map_number(context, [](auto x) { return decltype(x)(x == 0); });
                }});
}

}  // namespace vernier::ops
