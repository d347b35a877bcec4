// CenterCropPad: cuts the middle out of axes that are longer than `shape` says, and puts zeros around shorter
// ones.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

// The axes that the elements of `shape` are for.
std::vector<int64_t> axes_of(const Node& node, size_t rank) {
  if (node.find_attribute("axes") != nullptr) {
    return normalize_axes(node.attribute<std::vector<int64_t>>("axes", {}), static_cast<int64_t>(rank));
  }
  std::vector<int64_t> all(rank);
  for (size_t i = 0; i < rank; ++i) all[i] = static_cast<int64_t>(i);
  return all;
}

void infer_center_crop_pad(InferContext& context) {
  context.set_output(0, context.element(0), context.shape(0));
  if (!context.shape(0)) return;
  Shape result = *context.shape(0);
  const auto axes = axes_of(context.node(), result.size());
  const auto& wanted = context.dims(1);
  const auto& length = context.shape(1);
  const auto count = length && length->size() == 1 ? (*length)[0].constant() : std::nullopt;
  if (count && *count != static_cast<int64_t>(axes.size()))
    throw bad_input("{} sizes do not fit {} axes", *count, axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    result[static_cast<size_t>(axes[i])] = wanted ? checked_size((*wanted)[i]) : context.fresh("crop");
  }
  context.set_output(0, context.element(0), std::move(result));
}

void reference_center_crop_pad(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  Tensor& output = context.allocate(0);
  Placement source = dense(input.dims()), target = dense(output.dims());
  Dims sizes;
  for (size_t i = 0; i < input.dims().size(); ++i) {
    // An odd difference leaves the larger part behind.
    const int64_t surplus = input.dims()[i] - output.dims()[i];
    source.offset += std::max<int64_t>(0, surplus) / 2 * source.strides[i];
    target.offset += std::max<int64_t>(0, -surplus) / 2 * target.strides[i];
    sizes.push_back(std::min(input.dims()[i], output.dims()[i]));
  }
  copy_placed(input, source, output, target, sizes);
}

}  // namespace

void register_center_crop_pad(OpRegistry& registry) {
  registry.add({.op = "CenterCropPad",
                .operands = {Role::kData, Role::kSizes},
                .attributes = {{"axes", "INTS"}},
                .traits = kDataMovement,
                .since = {18, 18},
                .infer = infer_center_crop_pad,
                .reference = reference_center_crop_pad,
                .flops = no_flops});
}

}  // namespace vernier::ops
