// DepthToSpace moves channels into blocks of height and width, SpaceToDepth moves them back. In mode DCR, the
// default, the position in the block is the outer part of the channel, in CRD (DepthToSpace 11, SpaceToDepth
// 28) the inner.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

int64_t block_size(const Node& node) {
  const int64_t block = integer_attribute(node, "blocksize");
  if (block <= 0) throw bad_input("blocksize is {}", block);
  return block;
}

bool depth_is_outer(const Node& node) {
  const auto mode = text_attribute(node, "mode");
  if (mode != "DCR" && mode != "CRD") throw bad_input("mode '{}' is neither DCR nor CRD", mode);
  return mode == "CRD";
}

// The image with blocks as axes of their own, [batch, depth, height, block row, width, block column], in both
// layouts.
struct Layouts {
  Dims sizes;
  Placement deep, wide;
};

// `deep` are the sizes of the tensor with the blocks in its channels.
Layouts layouts(const Dims& deep, int64_t block, bool depth_outer) {
  const int64_t depth = deep[1] / (block * block), height = deep[2], width = deep[3];
  const int64_t plane = height * width;
  const int64_t depth_step = depth_outer ? block * block * plane : plane;
  const int64_t block_step = depth_outer ? plane : depth * plane;
  Layouts result;
  result.sizes = {deep[0], depth, height, block, width, block};
  result.deep.strides = {deep[1] * plane, depth_step, width, block * block_step, 1, block_step};
  result.wide = dense(result.sizes);
  return result;
}

Dim divided(const Dim& size, const Dim& divisor) {
  if (size.is_constant() && divisor.is_constant() && *size.constant() % *divisor.constant() != 0) {
    throw bad_input("{} is no multiple of {}", size.text(), divisor.text());
  }
  return floordiv(size, divisor);
}

const Shape& image_shape(const Shape& shape) {
  if (shape.size() != 4)
    throw bad_input("the input must be [batch, channels, height, width], not {}", shape_text(shape));
  return shape;
}

template <bool to_space>
void infer_depth_to_space(InferContext& context) {
  const Dim block = block_size(context.node());
  context.set_output(0, context.element(0), std::nullopt);
  if (!context.shape(0)) return context.set_output(0, context.element(0), fresh_shape(context, 4, "depth"));
  const Shape& in = image_shape(*context.shape(0));
  if (to_space)
    context.set_output(0, context.element(0),
                       Shape{in[0], divided(in[1], block * block), in[2] * block, in[3] * block});
  else
    context.set_output(0, context.element(0),
                       Shape{in[0], in[1] * block * block, divided(in[2], block), divided(in[3], block)});
}

template <bool to_space>
void reference_depth_to_space(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  Tensor& output = context.allocate(0);
  const auto plan = layouts(to_space ? input.dims() : output.dims(), block_size(context.node()),
                            depth_is_outer(context.node()));
  copy_placed(input, to_space ? plan.deep : plan.wide, output, to_space ? plan.wide : plan.deep, plan.sizes);
}

template <bool to_space>
void add(OpRegistry& registry, const char* name) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .attributes = {{"blocksize", "INT"}, {"mode", "STRING"}},
                .traits = kDataMovement,
                .since = {13, 1},
                .infer = infer_depth_to_space<to_space>,
                .reference = reference_depth_to_space<to_space>,
                .flops = no_flops});
}

}  // namespace

void register_depth_to_space(OpRegistry& registry) {
  add<true>(registry, "DepthToSpace");
  add<false>(registry, "SpaceToDepth");
}

}  // namespace vernier::ops
