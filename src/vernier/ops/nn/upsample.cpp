// Upsample: Resize as it was before opset 10, with positions x / scale. Scales were attributes for height and
// width in opset 1, one attribute in 7, an input from 9 on.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/resample.h"

namespace vernier::ops {

namespace {

// Scales that are attributes; `rank` is that of the input.
std::vector<double> scale_attributes(const Node& node, size_t rank) {
  if (node.version >= 7) {
    const auto scales = node.attribute<std::vector<float>>("scales", {});
    return {scales.begin(), scales.end()};
  }
  std::vector<double> scales(std::max<size_t>(2, rank), 1);
  scales[scales.size() - 2] = node.attribute<float>("height_scale", 1);
  scales[scales.size() - 1] = node.attribute<float>("width_scale", 1);
  return scales;
}

void infer(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& x = context.shape(0);
  if (!x) return;
  const Tensor* input = context.version() >= 9 ? context.constant(1) : nullptr;
  Shape result;
  if (context.version() >= 9 && input == nullptr) {
    for (size_t i = 0; i < x->size(); ++i) result.push_back(context.fresh("upsample"));
  } else {
    const auto scales = input != nullptr ? input->to_doubles() : scale_attributes(context.node(), x->size());
    if (scales.size() != x->size()) throw bad_input("{} scales for {}", scales.size(), shape_text(*x));
    for (size_t i = 0; i < scales.size(); ++i) result.push_back(ratio_of(scales[i]).scaled((*x)[i]));
  }
  context.set_output(0, context.element(0), std::move(result));
}

void reference(ReferenceContext& context) {
  const Dims &dims = context.dims(0), out = context.out_dims(0);
  const auto scales =
      context.version() >= 9 ? context.in(1).to_doubles() : scale_attributes(context.node(), dims.size());
  std::vector<ResampleAxis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Ratio ratio = ratio_of(scales[i]);
    if (!ratio.is_one()) axes.push_back({.axis = i, .input = dims[i], .output = out[i], .ratio = ratio});
  }
  resample(context, {.interpolation = interpolation_of(context.attribute<std::string>("mode", "nearest"))},
           axes);
}

}  // namespace

void register_upsample(OpRegistry& registry) {
  registry.add({.op = "Upsample",
                .min_inputs = 1,
                .max_inputs = 2,
                .attributes = {{"height_scale", "FLOAT"},
                               {"mode", "STRING"},
                               {"scales", "FLOATS"},
                               {"width_scale", "FLOAT"}},
                .traits = kReduction,
                .infer = infer,
                .reference = reference});
}

}  // namespace vernier::ops
