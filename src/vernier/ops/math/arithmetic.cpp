// Add, Sub, Mul, Div: broadcasting, in double or native integers. Also followed symbolically, for shape arithmetic.
#include "vernier/ops/support/legacy_broadcast.h"
#include "vernier/ops/support/pointwise.h"
#include "vernier/ops/op_def.h"

namespace vernier::ops {

namespace {

// Integers wrap: computed without sign, where overflow is defined.
struct AddOp {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    else return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static Dim dims(const Dim& a, const Dim& b) { return a + b; }
};

struct SubOp {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a - b;
    else return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
  static Dim dims(const Dim& a, const Dim& b) { return a - b; }
};

struct MulOp {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    else return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  static Dim dims(const Dim& a, const Dim& b) { return a * b; }
};

struct DivOp {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) throw bad_input("integer division by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return SubOp()(T{0}, a);  // the smallest integer divided by -1 overflows
      }
      return a / b;  // towards zero
    }
  }
  // Division of sizes is of non-negative numbers, where truncation and floor agree.
  static Dim dims(const Dim& a, const Dim& b) { return floordiv(a, b); }
};

template <class Op>
void infer(InferContext& context) {
  const auto aligned = align_legacy_broadcast(context);
  context.set_output(0, context.element(0), aligned);
  const auto &a = context.dims(0), &b = context.dims(1);
  if (!a || !b || (a->size() != b->size() && a->size() != 1 && b->size() != 1)) return;
  std::vector<Dim> content(std::max(a->size(), b->size()));
  for (size_t i = 0; i < content.size(); ++i) {
    const Dim &left = (*a)[a->size() == 1 ? 0 : i], &right = (*b)[b->size() == 1 ? 0 : i];
    if (std::is_same_v<Op, DivOp> && right == Dim(0)) return;
    content[i] = Op::dims(left, right);
  }
  context.set_dims(0, std::move(content));
}

template <class Op>
void reference(ReferenceContext& context) {
  zip_number(context, Op(), legacy_dims(context));
}

template <class Op>
void add(OpRegistry& registry, const char* name) {
  registry.add({.op = name, .min_inputs = 2, .max_inputs = 2,
                .attributes = {{"axis", "INT"}, {"broadcast", "INT"}, {"consumed_inputs", "INTS"}},
                .traits = kPointwise, .infer = infer<Op>, .reference = reference<Op>});
}

}  // namespace

void register_arithmetic(OpRegistry& registry) {
  add<AddOp>(registry, "Add");
  add<SubOp>(registry, "Sub");
  add<MulOp>(registry, "Mul");
  add<DivOp>(registry, "Div");
}

}  // namespace vernier::ops
