// MaxUnpool: puts every element where MaxPool's Indices say it stood, zeros elsewhere. Indices count in the
// image that MaxPool would have had by kernel, strides and pads; a larger output_shape (input 2) holds that
// image at its origin.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier::ops {

namespace {

Shape unpooled_shape(const Node& node, const Shape& x) {
  if (x.size() < 3) throw bad_input("MaxUnpool needs spatial axes, not {}", shape_text(x));
  const WindowAttributes window = window_attributes(node, x.size() - 2);
  const Shape kernel = required_kernel_shape(node, x.size() - 2);
  Shape result{x[0], x[1]};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    result.push_back((x[i + 2] - 1) * window.strides[i] + kernel[i] - window.pads_begin[i] -
                     window.pads_end[i]);
  }
  return result;
}

void infer_max_unpool(InferContext& context) {
  const auto& x = context.shape(0);
  if (x) require_elements(context, 1, element_count(*x));
  std::optional<Shape> shape;
  if (context.has(2))
    shape = context.dims(2);
  else if (x)
    shape = unpooled_shape(context.node(), *x);
  context.set_output(0, context.element(0), std::move(shape));
}

void reference_max_unpool(ReferenceContext& context) {
  const auto x = context.reals(0);
  const auto indices = context.ints(1);
  if (indices.size() != x.size()) throw bad_input("{} indices for {} elements", indices.size(), x.size());
  const Dims image = *to_dims(unpooled_shape(context.node(), to_shape(context.dims(0)))),
             out = context.out_dims(0);
  bool fits = out.size() == image.size();
  for (size_t i = 0; fits && i < image.size(); ++i) fits = image[i] >= 0 && image[i] <= out[i];
  if (!fits) throw bad_input("an output {} for an image {}", dims_text(out), dims_text(image));
  const auto strides = strides_of(out);
  const int64_t elements = element_count(image);
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t rest = indices[i], at = 0;
    if (rest < 0 || rest >= elements)
      throw bad_input("index {} is outside of the image {}", rest, dims_text(image));
    for (size_t axis = image.size(); axis-- > 0; rest /= image[axis])
      at += rest % image[axis] * strides[axis];
    y[static_cast<size_t>(at)] = x[i];
  }
  context.store(0, y);
}

}  // namespace

void register_max_unpool(OpRegistry& registry) {
  registry.add({.op = "MaxUnpool",
                .operands = {Role::kData, Role::kIndices, Role::kSizes},
                .optional_inputs = 1,
                .attributes = {{"kernel_shape", "INTS"}, {"pads", "INTS"}, {"strides", "INTS"}},
                .traits = kDataMovement,
                .since = {22, 9},
                .infer = infer_max_unpool,
                .reference = reference_max_unpool});
}

}  // namespace vernier::ops
