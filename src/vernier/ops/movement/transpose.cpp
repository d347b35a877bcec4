// Transpose: permutes the axes; without `perm` it reverses their order.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/movement/permutation.h"

namespace vernier::ops {

namespace {

void infer_transpose(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const auto perm = permutation_of(context.node(), input->size());
  context.set_output(0, context.element(0), permuted(*input, perm));
  if (const auto content = content_of(context, 0)) {
    const Dims sizes = permuted(content->dims, perm);
    std::vector<Dim> moved(content->elements.size());
    copy_placed(content->elements, {0, permuted(strides_of(content->dims), perm)}, moved, dense(sizes),
                sizes);
    context.set_dims(0, std::move(moved));
  }
}

void reference_transpose(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const auto perm = permutation_of(context.node(), input.dims().size());
  const Dims sizes = permuted(input.dims(), perm);
  if (keeps_order(input.dims(), perm)) return context.emit(0, input.reshaped(sizes));
  copy_placed(input, {0, permuted(strides_of(input.dims()), perm)}, context.allocate(0, sizes), dense(sizes),
              sizes);
}

}  // namespace

void register_transpose(OpRegistry& registry) {
  registry.add({.op = "Transpose",
                .operands = {Role::kData},
                .attributes = {{"perm", "INTS"}},
                .traits = kDataMovement,
                .since = {13, 1},
                .infer = infer_transpose,
                .reference = reference_transpose,
                .flops = no_flops});
}

}  // namespace vernier::ops
