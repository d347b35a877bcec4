// com.microsoft QLinearAveragePool: AveragePool of a quantized image, quantized; [N, spatial..., C] if
// channels_last is set.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/channels_last.h"
#include "vernier/ops/support/nn/pool.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

bool is_channels_last(const Node& node) {
  return integer_attribute(node, "channels_last") != 0;
}

void infer_qlinear_average_pool(InferContext& context) {
  if (is_channels_last(context.node()))
    infer_channels_last(context, infer_pool);
  else
    infer_pool(context);
}

void reference_qlinear_average_pool(ReferenceContext& context) {
  const bool last = is_channels_last(context.node());
  const Dims& given = context.dims(kX);
  const Dims dims = last ? channels_first(given) : given, out = context.out_dims(0);
  auto x = dequantize(context, kX, affine_of(context, kXScale, kXZeroPoint));
  if (last) x = to_channels_first(x, given);
  auto y = average_windows(x.data(), dims, pool_axes(context.node(), dims),
                           integer_attribute(context.node(), "count_include_pad") != 0);
  if (last) y = to_channels_last(y, channels_first(out));
  store_quantized(context, 0, out, std::move(y), affine_of(context, kYScale, kYZeroPoint));
}

}  // namespace

void register_qlinear_average_pool(OpRegistry& registry) {
  registry.add(
      {.domain = "com.microsoft",
       .op = "QLinearAveragePool",
       .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
       .optional_inputs = 1,
       .attributes = pool_attributes({{"channels_last", "INT"}, {"count_include_pad", "INT"}}),
       .traits = kReduction,
       .infer = infer_qlinear_average_pool,
       .reference = reference_qlinear_average_pool});
}

}  // namespace vernier::ops
