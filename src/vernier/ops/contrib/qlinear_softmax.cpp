// com.microsoft QLinearSoftmax: Softmax of a quantized tensor. The attribute `opset` says which Softmax:
// before 13 the input is flattened to a matrix at `axis`.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/axis_rows.h"
#include "vernier/ops/support/nn/softmax.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

void infer_qlinear_softmax(InferContext& context) {
  context.set_output(0, context.element(kX), context.shape(kX));
}

void reference_qlinear_softmax(ReferenceContext& context) {
  const Dims& dims = context.dims(kX);
  const bool flattens = softmax_flattens(context.node());
  const int64_t axis =
      normalize_axis(softmax_axis(context.node()), std::max<int64_t>(1, context.in(kX).rank()));
  const auto split = std::min(static_cast<size_t>(axis), dims.size());
  const AxisRows rows = flattens || dims.empty()
                            ? AxisRows({product(dims, 0, split), product(dims, split, dims.size())}, 1)
                            : AxisRows(dims, axis);
  auto values = dequantize(context, kX, affine_of(context, kXScale, kXZeroPoint));
  for_each_row(rows, [&](int64_t row) {
    if (rows.length == 0) return;
    double* start = values.data() + rows.start(row);
    softmax(start, start, rows.length, rows.inner);
  });
  store_quantized(context, 0, dims, std::move(values), affine_of(context, kYScale, kYZeroPoint));
}

}  // namespace

void register_qlinear_softmax(OpRegistry& registry) {
  registry.add(
      {.domain = "com.microsoft",
       .op = "QLinearSoftmax",
       .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
       .attributes = {{"axis", "INT"}, {"opset", "INT"}},
       .traits = kNormalisation,
       .precision = PrecisionClass::kNeverLower,
       .infer = infer_qlinear_softmax,
       .reference = reference_qlinear_softmax});
}

}  // namespace vernier::ops
