// com.microsoft QLinearSoftmax: Softmax of a quantised tensor. The attribute `opset` says which Softmax: before 13 the
// input is flattened to a matrix at `axis`.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/quantization.h"
#include "vernier/ops/support/softmax.h"
#include "vernier/ops/support/strides.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

void infer(InferContext& context) { context.set_output(0, context.element(kX), context.shape(kX)); }

void reference(ReferenceContext& context) {
  const Dims& dims = context.dims(kX);
  const bool flattens = context.attribute<int64_t>("opset", 0) < 13;
  auto values = dequantize(context, kX, affine_of(context, kXScale, kXZeroPoint));
  const int64_t rank = std::max<int64_t>(1, static_cast<int64_t>(dims.size()));
  const auto axis = static_cast<size_t>(normalize_axis(context.attribute<int64_t>("axis", flattens ? 1 : -1), rank));
  const int64_t step = flattens || dims.empty() ? 1 : product(dims, axis + 1, dims.size());
  const int64_t length = flattens ? product(dims, axis, dims.size()) : dims.empty() ? 1 : dims[axis];
  const int64_t rows = length == 0 ? 0 : static_cast<int64_t>(values.size()) / length;
  for (int64_t row = 0; row < rows; ++row) {
    double* start = values.data() + row / step * length * step + row % step;
    softmax(start, start, length, step);
  }
  store_quantized(context, 0, dims, std::move(values), affine_of(context, kYScale, kYZeroPoint));
}

}  // namespace

void register_qlinear_softmax(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft", .op = "QLinearSoftmax", .min_inputs = 5, .max_inputs = 5,
                .attributes = {{"axis", "INT"}, {"opset", "INT"}}, .traits = kNormalisation,
                .precision = PrecisionClass::kNeverLower, .infer = infer, .reference = reference});
}

}  // namespace vernier::ops
