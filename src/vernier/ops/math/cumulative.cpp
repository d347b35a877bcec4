// CumSum, CumProd along an axis given as an input; `exclusive` leaves the element itself out, `reverse` runs
// backwards.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/wrapping.h"
#include "vernier/ops/support/movement/axis_rows.h"

namespace vernier::ops {

namespace {

void infer_cumulative(InferContext& context) {
  context.set_type(0, context.type(0));
}

struct Sum {
  static constexpr int kStart = 0;
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_add(a, b);
  }
};

struct Product {
  static constexpr int kStart = 1;
  template <class T>
  T operator()(T a, T b) const {
    return wrapping_multiply(a, b);
  }
};

template <class Op>
void reference_cumulative(ReferenceContext& context) {
  const AxisRows rows(context.dims(0), context.integer(1, 0));
  const bool exclusive = integer_attribute(context.node(), "exclusive") != 0;
  const bool reverse = integer_attribute(context.node(), "reverse") != 0;
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    const auto x = arithmetic_elements<T>(context, 0);
    std::vector<T> y(static_cast<size_t>(x.size()));
    for_each_row(rows, [&](int64_t row) {
      const int64_t start = rows.start(row);
      T total = Op::kStart;
      for (int64_t i = 0; i < rows.length; ++i) {
        const int64_t at = start + (reverse ? rows.length - 1 - i : i) * rows.inner;
        const T next = Op()(total, x[at]);
        y[static_cast<size_t>(at)] = exclusive ? total : next;
        total = next;
      }
    });
    store_arithmetic(context, 0, context.dims(0), y);
  });
}

template <class Op>
void add(OpRegistry& registry, const char* name, uint32_t traits, TypesSince since) {
  registry.add({.op = name,
                .operands = {Role::kData, Role::kAxes},
                .attributes = {{"exclusive", "INT"}, {"reverse", "INT"}},
                .traits = traits,
                .precision = PrecisionClass::kNeverLower,
                .since = since,
                .infer = infer_cumulative,
                .reference = reference_cumulative<Op>});
}

}  // namespace

void register_cumulative(OpRegistry& registry) {
  add<Sum>(registry, "CumSum", kSums | kAddsUp, {14, 14});
  add<Product>(registry, "CumProd", 0, kNoNarrowFloats);
}

}  // namespace vernier::ops
