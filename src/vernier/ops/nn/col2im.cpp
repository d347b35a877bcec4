// Col2Im: sums blocks [N, C * block elements, blocks] into images [N, C, image_shape...], each where it was
// taken from.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/nn/im2col.h"

namespace vernier::ops {

namespace {

std::optional<Dim> block_size(const InferContext& context) {
  if (const auto& block = context.dims(2)) return element_count(*block);
  return std::nullopt;
}

WindowAxes axes_of(const Node& node, const Dims& image, const Dims& block) {
  if (image.size() != block.size())
    throw bad_input("image_shape and block_shape have {} and {} entries", image.size(), block.size());
  for (size_t i = 0; i < block.size(); ++i) {
    if (block[i] < 1 || image[i] < 0)
      throw bad_input("blocks {} of an image {}", dims_text(block), dims_text(image));
  }
  return window_axes(window_attributes(node, image.size()), image, block);
}

// Checks, for an image and blocks that are known, that the input holds as many as there are.
void require_windows(const InferContext& context, const Shape& image, const Shape& block) {
  const auto images = to_dims(image), blocks = to_dims(block);
  if (!images || !blocks) return;
  const WindowAxes axes = axes_of(context.node(), *images, *blocks);
  const int64_t taps = tap_count(axes), windows = output_count(axes);
  const auto& input = context.shape(0);
  if (!input) return;
  const Dim &elements = (*input)[1], &count = (*input)[2];
  if (!count.may_equal(windows) || elements.constant().value_or(0) % taps != 0)
    throw bad_input("an input {} for {} blocks of {} elements", shape_text(*input), windows, taps);
}

void infer_col2im(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (input && input->size() != 3)
    throw bad_input("the input must be [N, C * block, blocks], not {}", shape_text(*input));
  const auto& image = context.dims(1);
  if (!image) return;
  const auto block = block_size(context);
  if (block && *block == Dim(0)) throw bad_input("an empty block");
  if (block) require_windows(context, *image, *context.dims(2));
  Shape result{input ? (*input)[0] : context.fresh("batch"),
               input && block ? floordiv((*input)[1], *block) : context.fresh("channels")};
  result.insert(result.end(), image->begin(), image->end());
  context.set_output(0, context.element(0), std::move(result));
}

void reference_col2im(ReferenceContext& context) {
  const auto image = context.int_list(1), block = context.int_list(2);
  const Dims& dims = context.dims(0);
  const WindowAxes axes = axes_of(context.node(), image, block);
  const int64_t taps = tap_count(axes), windows = output_count(axes), plane = input_count(axes);
  if (dims[1] % taps != 0 || dims[2] != windows) {
    throw bad_input("an input {} for {} blocks of {} elements", dims_text(dims), windows, taps);
  }
  const auto columns = context.reals(0);
  const int64_t channels = dims[0] * (dims[1] / taps);
  std::vector<double> sums(static_cast<size_t>(channels * plane));
  col2im(columns.data(), channels, axes, sums.data());
  context.store(0, sums);
}

}  // namespace

void register_col2im(OpRegistry& registry) {
  registry.add({.op = "Col2Im",
                .operands = {Role::kData, Role::kSizes, Role::kSizes},
                .attributes = {{"dilations", "INTS"}, {"pads", "INTS"}, {"strides", "INTS"}},
                .traits = kReduction,
                .precision = PrecisionClass::kUntried,
                .since = {18, 18},
                .infer = infer_col2im,
                .reference = reference_col2im});
}

}  // namespace vernier::ops
