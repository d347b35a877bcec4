// com.microsoft QLinearConcat: joins quantized tensors along an axis under one new scale and zero point.
// Inputs: the scale and zero point of the result, then tensor, scale, zero point of each part.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kYScale, kYZeroPoint, kFirstPart };
constexpr size_t kInputsPerPart = 3;

void infer_qlinear_concat(InferContext& context) {
  if (context.input_count() < kFirstPart + kInputsPerPart ||
      (context.input_count() - kFirstPart) % kInputsPerPart != 0) {
    throw bad_input("every part needs a tensor, a scale and a zero point");
  }
  context.set_output(0, context.element(kYZeroPoint), std::nullopt);
  std::optional<Shape> result;
  for (size_t part = kFirstPart; part < context.input_count(); part += kInputsPerPart) {
    const auto& shape = context.shape(part);
    if (!shape) return;
    const auto axis = static_cast<size_t>(
        normalize_axis(integer_attribute(context.node(), "axis"), static_cast<int64_t>(shape->size())));
    if (!result) {
      result = *shape;
      continue;
    }
    if (result->size() != shape->size())
      throw bad_input("parts of ranks {} and {} cannot be joined", result->size(), shape->size());
    for (size_t i = 0; i < shape->size(); ++i) {
      const Dim &have = (*result)[i], &next = (*shape)[i];
      if (i != axis && have.is_constant() && next.is_constant() && have != next) {
        throw bad_input("parts {} and {} cannot be joined along axis {}", shape_text(*result),
                        shape_text(*shape), axis);
      }
    }
    (*result)[axis] = (*result)[axis] + (*shape)[axis];
  }
  context.set_output(0, context.element(kYZeroPoint), std::move(result));
}

void reference_qlinear_concat(ReferenceContext& context) {
  const Dims dims = context.out_dims(0);
  const auto axis = static_cast<size_t>(
      normalize_axis(integer_attribute(context.node(), "axis"), static_cast<int64_t>(dims.size())));
  const int64_t outer = product(dims, 0, axis), row = product(dims, axis, dims.size());
  std::vector<double> joined(static_cast<size_t>(outer * row));
  int64_t column = 0;
  for (size_t part = kFirstPart; part < context.input_count(); part += kInputsPerPart) {
    const auto values = dequantize(context, part, affine_of(context, part + 1, part + 2));
    const int64_t width = product(context.dims(part), axis, dims.size());
    for (int64_t o = 0; o < outer; ++o)
      std::copy_n(values.data() + o * width, width, joined.data() + o * row + column);
    column += width;
  }
  store_quantized(context, 0, dims, std::move(joined), affine_of(context, kYScale, kYZeroPoint));
}

}  // namespace

void register_qlinear_concat(OpRegistry& registry) {
  registry.add(
      {.domain = "com.microsoft",
       .op = "QLinearConcat",
       .operands = {Role::kResultScale, Role::kResultZeroPoint, Role::kData, Role::kScale, Role::kZeroPoint},
       .repeats = 3,
       .attributes = {{"axis", "INT"}},
       .traits = kDataMovement,
       .infer = infer_qlinear_concat,
       .reference = reference_qlinear_concat});
}

}  // namespace vernier::ops
