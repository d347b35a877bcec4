// Crop: an image [batch, channels, height, width] without a border (left, top, right, bottom), or of the size
// `scale` (height, width) from the left and top border on. An experimental operator of the first opsets,
// which ONNX removed and ONNX Runtime still runs.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

struct Border {
  int64_t left, top;
  Dim height, width;  // of what is kept
};

Border border_of(const Node& node, const Dim& height, const Dim& width) {
  const auto border = node.attribute<std::vector<int64_t>>("border", {});
  const auto scale = node.attribute<std::vector<int64_t>>("scale", {});
  if (border.size() != 4) throw bad_input("Crop needs a border of 4 numbers, but has {}", border.size());
  if (!scale.empty() && scale.size() != 2)
    throw bad_input("Crop needs a scale of 2 numbers, but has {}", scale.size());
  const std::vector<int64_t>& sizes = scale.empty() ? border : scale;
  if (*std::min_element(border.begin(), border.end()) < 0 ||
      *std::min_element(sizes.begin(), sizes.end()) < 0)
    throw bad_input("Crop has a negative border or scale");
  Border result{border[0], border[1], height - border[1] - border[3], width - border[0] - border[2]};
  if (!scale.empty()) {
    result.height = scale[0];
    result.width = scale[1];
  }
  const auto exceeds = [](const Dim& size, int64_t first, const Dim& kept) {
    const auto left = (size - first - kept).constant(), most = kept.constant();
    return (left && *left < 0) || (most && *most < 0);
  };
  if (exceeds(height, result.top, result.height) || exceeds(width, result.left, result.width))
    throw bad_input("Crop takes more than the {} x {} pixels that there are", height.text(), width.text());
  return result;
}

void infer_crop(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& x = context.shape(0);
  if (!x) return;
  if (x->size() != 4) throw bad_input("Crop takes images of 4 axes, not {}", shape_text(*x));
  const Border border = border_of(context.node(), (*x)[2], (*x)[3]);
  context.set_output(0, context.element(0), Shape{(*x)[0], (*x)[1], border.height, border.width});
}

void reference_crop(ReferenceContext& context) {
  const Tensor& x = context.in(0);
  const Dims dims = context.out_dims(0);
  const Border border = border_of(context.node(), x.dims()[2], x.dims()[3]);
  Placement from = dense(x.dims());
  from.offset = border.top * from.strides[2] + border.left * from.strides[3];
  copy_placed(x, from, context.allocate(0, dims), dense(dims), dims);
}

}  // namespace

void register_crop(OpRegistry& registry) {
  registry.add({.op = "Crop",
                .operands = {Role::kData},
                .attributes = {{"border", "INTS"}, {"scale", "INTS"}},
                .traits = kDataMovement,
                .since = kNoNarrowFloats,
                .infer = infer_crop,
                .reference = reference_crop,
                .flops = no_flops});
}

}  // namespace vernier::ops
