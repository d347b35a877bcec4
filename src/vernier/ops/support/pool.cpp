#include "vernier/ops/support/pool.h"

namespace vernier::ops {

void infer_pool(InferContext& context) {
  const auto& x = context.shape(0);
  std::optional<Shape> result;
  if (x) {
    if (x->size() < 3) throw bad_input("a pool needs spatial axes, not {}", shape_text(*x));
    const size_t spatial_rank = x->size() - 2;
    const WindowAttributes window = window_attributes(context.node(), spatial_rank);
    const Shape kernel = required_kernel_shape(context.node(), spatial_rank);
    result = Shape{(*x)[0], (*x)[1]};
    for (size_t i = 0; i < spatial_rank; ++i)
      result->push_back(window_count(window, i, (*x)[i + 2], kernel[i]));
  }
  context.set_output(0, context.element(0), result);
  context.set_output(1, ElementType::kInt64, result);
}

WindowAxes pool_axes(const Node& node, const Dims& x) {
  const size_t spatial_rank = x.size() - 2;
  const Dims kernel = *to_dims(required_kernel_shape(node, spatial_rank));
  return window_axes(window_attributes(node, spatial_rank), std::span(x).subspan(2), kernel);
}

std::vector<AttributeSpec> pool_attributes(std::vector<AttributeSpec> more) {
  std::vector<AttributeSpec> all = {{"auto_pad", "STRING"},   {"ceil_mode", "INT"}, {"dilations", "INTS"},
                                    {"kernel_shape", "INTS"}, {"pads", "INTS"},     {"strides", "INTS"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace vernier::ops
