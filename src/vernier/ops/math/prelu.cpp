// PRelu: x where x >= 0, else slope * x. The slope broadcasts to x; before opset 7 a slope of several
// elements is one per channel, that is, along axis 1.
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/wrapping.h"

namespace vernier::ops {

namespace {

template <class Size>
std::vector<Size> aligned_slope(const Node& node, size_t rank, std::vector<Size> slope) {
  if (node.version < 7 && slope.size() == 1 && !(slope[0] == Size(1))) {
    for (size_t axis = 2; axis < rank; ++axis) slope.emplace_back(1);
  }
  return slope;
}

void infer_prelu(InferContext& context) {
  require_one_type(context, 0, 2);
  context.set_type(0, context.type(0));
  const auto &x = context.shape(0), &slope = context.shape(1);
  if (!x || !slope) return;
  const Shape aligned = aligned_slope(context.node(), x->size(), *slope);
  const auto own = to_dims(*x), common = to_dims(broadcast(*x, aligned));
  if (aligned.size() > x->size() || (own && common && *own != *common)) {
    throw bad_input("a slope {} does not broadcast to {}", shape_text(*slope), shape_text(*x));
  }
}

void reference_prelu(ReferenceContext& context) {
  zip_number(
      context, [](auto x, auto slope) { return x < 0 ? wrapping_multiply(slope, x) : x; },
      aligned_slope(context.node(), context.dims(0).size(), context.dims(1)));
}

}  // namespace

void register_prelu(OpRegistry& registry) {
  registry.add({.op = "PRelu",
                .operands = {Role::kData, Role::kData},
                .attributes = {{"consumed_inputs", "INTS"}},
                .traits = kPointwise | kFewRoundings,
                .since = {16, 1},
                .infer = infer_prelu,
                .reference = reference_prelu});
}

}  // namespace vernier::ops
