// Expand: repeats axes of size 1 so that the input takes the shape that numpy broadcasting with the second
// input gives.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

Placement repeated(const Dims& dims, const Dims& out) {
  return {0, broadcast_strides(dims, out)};
}

void infer_expand(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const auto& target = context.dims(1);
  if (!target) {
    // The input may add axes to the shape, but never the other way round.
    if (const auto length = list_length(context, 1)) {
      context.set_output(0, context.element(0),
                         fresh_shape(context, std::max(*length, input->size()), "expand"));
    }
    return;
  }
  for (const Dim& size : *target) checked_size(size);
  const Shape result = broadcast(*input, *target);
  context.set_output(0, context.element(0), result);
  const auto content = content_of(context, 0);
  const auto dims = to_dims(result);
  if (!content || !dims || element_count(*dims) > kMaxFollowedElements) return;
  std::vector<Dim> expanded(static_cast<size_t>(element_count(*dims)));
  copy_placed(content->elements, repeated(content->dims, *dims), expanded, dense(*dims), *dims);
  context.set_dims(0, std::move(expanded));
}

void reference_expand(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const Dims dims = context.out_dims(0);
  if (element_count(dims) == input.size()) return context.emit(0, input.reshaped(dims));
  copy_placed(input, repeated(input.dims(), dims), context.allocate(0, dims), dense(dims), dims);
}

}  // namespace

void register_expand(OpRegistry& registry) {
  registry.add({.op = "Expand",
                .operands = {Role::kData, Role::kSizes},
                .traits = kDataMovement,
                .since = {13, 8},
                .infer = infer_expand,
                .reference = reference_expand,
                .flops = no_flops});
}

}  // namespace vernier::ops
