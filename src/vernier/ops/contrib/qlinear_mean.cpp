// com.microsoft QLinearReduceMean, QLinearGlobalAveragePool: the mean of a quantized tensor over axes,
// quantized.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kX, kXScale, kXZeroPoint, kYScale, kYZeroPoint };

// Which axes of a tensor of this rank the node reduces.
using ReducedAxes = std::vector<bool> (*)(const Node& node, size_t rank);

std::vector<bool> attribute_axes(const Node& node, size_t rank) {
  const auto axes = node.attribute<std::vector<int64_t>>("axes", {});
  std::vector<bool> reduced(rank, axes.empty());
  for (const int64_t axis : normalize_axes(axes, static_cast<int64_t>(rank)))
    reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

std::vector<bool> spatial_axes(const Node& node, size_t rank) {
  if (rank < 3) throw bad_input("a tensor of rank {} has no spatial axes", rank);
  std::vector<bool> reduced(rank, true);
  const bool channels_last = integer_attribute(node, "channels_last") != 0;
  reduced[0] = reduced[channels_last ? rank - 1 : 1] = false;
  return reduced;
}

template <ReducedAxes Axes>
void infer_qlinear_mean(InferContext& context) {
  const auto& shape = context.shape(kX);
  context.set_output(0, context.element(kX), std::nullopt);
  if (!shape) return;
  const auto reduced = Axes(context.node(), shape->size());
  const bool keeps = integer_attribute(context.node(), "keepdims") != 0;
  Shape result;
  for (size_t i = 0; i < shape->size(); ++i) {
    if (!reduced[i])
      result.push_back((*shape)[i]);
    else if (keeps)
      result.emplace_back(1);
  }
  context.set_output(0, context.element(kX), std::move(result));
}

template <ReducedAxes Axes>
void reference_qlinear_mean(ReferenceContext& context) {
  const Dims& dims = context.dims(kX);
  const auto reduced = Axes(context.node(), dims.size());
  const auto values = dequantize(context, kX, affine_of(context, kXScale, kXZeroPoint));
  Dims kept = dims;
  for (size_t i = 0; i < dims.size(); ++i) kept[i] = reduced[i] ? 1 : dims[i];
  const auto strides = broadcast_strides(kept, dims);
  std::vector<double> means(static_cast<size_t>(element_count(kept)));
  size_t position = 0;
  for_each_index(dims, [&](const Dims& index) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    means[static_cast<size_t>(at)] += values[position++];
  });
  const double count =
      static_cast<double>(values.size()) / static_cast<double>(std::max<size_t>(1, means.size()));
  for (double& mean : means) mean /= count;
  store_quantized(context, 0, context.out_dims(0), std::move(means),
                  affine_of(context, kYScale, kYZeroPoint));
}

}  // namespace

void register_qlinear_mean(OpRegistry& registry) {
  OpDef def{
      .domain = "com.microsoft",
      .op = "QLinearReduceMean",
      .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
      .optional_inputs = 1,
      .attributes = {{"axes", "INTS"}, {"keepdims", "INT"}},
      .traits = kReduction,
      .infer = infer_qlinear_mean<attribute_axes>,
      .reference = reference_qlinear_mean<attribute_axes>};
  registry.add(def);
  def.op = "QLinearGlobalAveragePool";
  def.optional_inputs = 0;
  def.attributes = {{"channels_last", "INT"}};
  def.infer = infer_qlinear_mean<spatial_axes>;
  def.reference = reference_qlinear_mean<spatial_axes>;
  registry.add(std::move(def));
}

}  // namespace vernier::ops
