// com.microsoft MatMulInteger16: the product of 16-bit integers, modulo 2^32.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/matmul.h"

namespace vernier::ops {

namespace {

void infer_matmul_integer16(InferContext& context) {
  const bool unsigned_product =
      context.element(0) == ElementType::kUint16 && context.element(1) == ElementType::kUint16;
  infer_matmul(context, unsigned_product ? ElementType::kUint32 : ElementType::kInt32);
}

void reference_matmul_integer16(ReferenceContext& context) {
  const auto a = context.ints(0), b = context.ints(1);
  context.store_ints(0, context.out_dims(0), matmul(a.span(), context.dims(0), b.span(), context.dims(1)));
}

}  // namespace

void register_matmul_integer16(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "MatMulInteger16",
                .operands = {Role::kData, Role::kWeight},
                .traits = kContraction,
                .output_channels = -1,
                .infer = infer_matmul_integer16,
                .reference = reference_matmul_integer16,
                .flops = matmul_flops});
}

}  // namespace vernier::ops
