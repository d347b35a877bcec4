#include "vernier/ops/support/nn/normalise.h"

#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

RowStatistics row_statistics(std::span<const double> x, int64_t rows, int64_t length, bool centred,
                             double epsilon) {
  RowStatistics result{std::vector<double>(static_cast<size_t>(rows)),
                       std::vector<double>(static_cast<size_t>(rows))};
  parallel_for(rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, length)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const double* values = x.data() + row * length;
                   double mean = 0, squares = 0;
                   for (int64_t i = 0; centred && i < length; ++i) mean += values[i];
                   mean /= static_cast<double>(length);
                   for (int64_t i = 0; i < length; ++i) squares += (values[i] - mean) * (values[i] - mean);
                   result.mean[static_cast<size_t>(row)] = mean;
                   result.inverse_deviation[static_cast<size_t>(row)] =
                       1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
                 }
               });
  return result;
}

void require_broadcast(const Dims& from, const Dims& to, const char* what) {
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const int64_t size = to[to.size() - from.size() + i];
    fits = from[i] == size || from[i] == 1;
  }
  if (!fits) throw bad_input("a {} {} for an input {}", what, dims_text(from), dims_text(to));
}

}  // namespace

RowStatistics normalise_values(std::span<double> values, const Normalisation& normalisation,
                               std::span<const double> scale, std::span<const double> bias) {
  const Dims& dims = normalisation.dims;
  require_broadcast(normalisation.scale_dims, dims, "scale");
  const double no_bias = 0;
  const double* biases = bias.empty() ? &no_bias : bias.data();
  const Dims bias_dims = bias.empty() ? Dims() : normalisation.bias_dims;
  require_broadcast(bias_dims, dims, "bias");
  const int64_t rows = product(dims, 0, normalisation.axis),
                length = product(dims, normalisation.axis, dims.size());
  RowStatistics statistics =
      row_statistics(values, rows, length, normalisation.centred, normalisation.epsilon);
  Dims row_dims = dims;
  std::fill(row_dims.begin() + static_cast<std::ptrdiff_t>(normalisation.axis), row_dims.end(), 1);
  const auto normalise = [&](int64_t begin, int64_t count, const std::array<int64_t, 3>& at,
                             const std::array<int64_t, 3>& step) {
    for (int64_t i = 0; i < count; ++i) {
      const auto row = static_cast<size_t>(at[0] + i * step[0]);
      double& value = values[static_cast<size_t>(begin + i)];
      value = (value - statistics.mean[row]) * statistics.inverse_deviation[row] *
                  scale[static_cast<size_t>(at[1] + i * step[1])] +
              biases[at[2] + i * step[2]];
    }
  };
  for_each_broadcast<3>(dims, {&row_dims, &normalisation.scale_dims, &bias_dims}, normalise);
  return statistics;
}

RowStatistics normalise_rows(ReferenceContext& context, const Normalisation& normalisation) {
  auto values = context.in(0).to_doubles();
  const auto scale = context.reals(1), bias = context.has(2) ? context.reals(2) : Elements<double>();
  auto statistics = normalise_values(values, normalisation, scale.span(), bias.span());
  context.store(0, context.dims(0), values);
  return statistics;
}

RowNormalizationPlaces row_normalization_places(const Node& node) {
  if (node.op == "LayerNormalization") return {.mean = 1, .inverse_deviation = 2};
  if (node.op == "RMSNormalization") return {.centred = false, .bias = -1};
  if (node.op == "SimplifiedLayerNormalization")
    return {.centred = false, .bias = -1, .inverse_deviation = 1};
  const bool centred = node.op == "SkipLayerNormalization";
  return {.centred = centred,
          .scale = 2,
          .bias = centred ? 3 : -1,
          .skip = 1,
          .addend = centred ? 4 : 3,
          .mean = 1,
          .inverse_deviation = 2,
          .sum = 3};
}

}  // namespace vernier::ops
