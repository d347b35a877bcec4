// MeanVarianceNormalization: (x - mean) / (standard deviation + 1e-9) over `axes`, which are [0, 2, 3] by
// default. Before opset 9 over all axes, or all but the channels, without 1e-9, and without the division if
// normalize_variance = 0; ONNX Runtime runs these still.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/math/reduce_axes.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

void infer_mean_variance_normalization(InferContext& context) {
  if (const auto& x = context.shape(0)) mean_variance_axes(context.node(), x->size());
  context.set_output(0, context.element(0), context.shape(0));
}

// Offset of every element's statistics, seen along the axes that are kept.
std::vector<int64_t> statistic_offsets(const Dims& dims, const Dims& kept) {
  const auto strides = broadcast_strides(kept, dims);
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(element_count(dims)));
  for_each_index(dims, [&](const Dims& index) {
    int64_t offset = 0;
    for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
    offsets.push_back(offset);
  });
  return offsets;
}

void reference_mean_variance_normalization(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  Dims kept = dims;
  for (const int64_t axis : mean_variance_axes(context.node(), dims.size()))
    kept[static_cast<size_t>(axis)] = 1;
  const auto x = context.reals(0);
  const auto offsets = statistic_offsets(dims, kept);
  const auto statistics = static_cast<size_t>(element_count(kept));
  const double count = static_cast<double>(x.size()) / static_cast<double>(std::max<size_t>(1, statistics));
  std::vector<double> mean(statistics), variance(statistics), y(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i)
    mean[static_cast<size_t>(offsets[i])] += x[static_cast<int64_t>(i)] / count;
  for (size_t i = 0; i < offsets.size(); ++i) {
    y[i] = x[static_cast<int64_t>(i)] - mean[static_cast<size_t>(offsets[i])];
    variance[static_cast<size_t>(offsets[i])] += y[i] * y[i] / count;
  }
  const bool is_old = context.version() < 9;
  if (!is_old || context.attribute<int64_t>("normalize_variance", 1) != 0) {
    for (size_t i = 0; i < offsets.size(); ++i)
      y[i] /= std::sqrt(variance[static_cast<size_t>(offsets[i])]) + (is_old ? 0 : 1e-9);
  }
  context.store(0, dims, y);
}

}  // namespace

void register_mean_variance_normalization(OpRegistry& registry) {
  registry.add({.op = "MeanVarianceNormalization",
                .operands = {Role::kData},
                .attributes = {{"axes", "INTS"}, {"across_channels", "INT"}, {"normalize_variance", "INT"}},
                .traits = kNormalisation,
                .precision = PrecisionClass::kComputedWide,
                .since = {13, 9},
                .infer = infer_mean_variance_normalization,
                .reference = reference_mean_variance_normalization});
}

}  // namespace vernier::ops
