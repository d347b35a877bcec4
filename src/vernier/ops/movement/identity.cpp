// Identity: any tensor and, from opset 14, any sequence; from opset 16 any optional, too.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

void infer_identity(InferContext& context) {
  context.set_type(0, context.type(0));
  if (const auto& content = context.info(0).dims) context.set_dims(0, *content);
  if (const Tensor* constant = context.constant(0)) context.set_constant(0, *constant);
}

void reference_identity(ReferenceContext& context) {
  context.emit(0, context.datum(0));
}

}  // namespace

void register_identity(OpRegistry& registry) {
  registry.add({.op = "Identity",
                .operands = {Role::kData},
                .traits = kView,
                .since = {13, 1},
                .infer = infer_identity,
                .reference = reference_identity,
                .flops = no_flops});
}

}  // namespace vernier::ops
