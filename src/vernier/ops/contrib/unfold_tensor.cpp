// com.microsoft UnfoldTensor: all runs of `size` elements along axis `dim`, every `step` elements one; the
// runs become a new last axis.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

struct Unfolding {
  size_t axis;
  int64_t size, step;

  Unfolding(const Node& node, size_t rank)
      : axis(static_cast<size_t>(
            normalize_axis(node.attribute<int64_t>("dim", -1), static_cast<int64_t>(rank)))),
        size(node.attribute<int64_t>("size", 0)),
        step(node.attribute<int64_t>("step", 1)) {
    if (size < 1 || step < 1) throw bad_input("runs of {} elements at steps of {}", size, step);
  }
};

void infer_unfold_tensor(InferContext& context) {
  auto shape = context.shape(0);
  if (shape) {
    const Unfolding unfolding(context.node(), shape->size());
    Dim& length = (*shape)[unfolding.axis];
    if (length.is_constant() && *length.constant() < unfolding.size)
      throw bad_input("runs of {} in an axis of {}", unfolding.size, length.text());
    length = floordiv(length - unfolding.size, unfolding.step) + 1;
    shape->push_back(unfolding.size);
  }
  context.set_output(0, context.element(0), std::move(shape));
}

void reference_unfold_tensor(ReferenceContext& context) {
  const Tensor& x = context.in(0);
  const Unfolding unfolding(context.node(), x.dims().size());
  Placement runs = dense(x.dims());
  runs.strides.push_back(runs.strides[unfolding.axis]);
  runs.strides[unfolding.axis] *= unfolding.step;
  Tensor& y = context.allocate(0);
  copy_placed(x, runs, y, dense(y.dims()), y.dims());
}

}  // namespace

void register_unfold_tensor(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "UnfoldTensor",
                .operands = {Role::kData},
                .attributes = {{"dim", "INT"}, {"size", "INT"}, {"step", "INT"}},
                .traits = kDataMovement,
                .infer = infer_unfold_tensor,
                .reference = reference_unfold_tensor,
                .flops = no_flops});
}

}  // namespace vernier::ops
