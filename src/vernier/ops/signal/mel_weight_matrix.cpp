// MelWeightMatrix: triangular filters, one a column, that gather the bins of a spectrum into bands of equal
// width on the mel scale, mel(f) = 2595 log10(1 + f / 700).
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"

namespace vernier::ops {

namespace {

constexpr size_t kBands = 0, kLength = 1, kRate = 2, kLowest = 3, kHighest = 4;

Dim number(const InferContext& context, size_t input, const char* name) {
  context.element(input);
  const auto content = scalar_content(context, input);
  return content ? checked_size(*content) : context.fresh(name);
}

void infer_mel_weight_matrix(InferContext& context) {
  for (const size_t input : {kRate, kLowest, kHighest}) context.element(input);
  const Dim bands = number(context, kBands, "num_mel_bins"), length = number(context, kLength, "dft_length");
  context.set_output(0, element_type_attribute(context.node(), "output_datatype", ElementType::kFloat),
                     Shape{floordiv(length, 2) + 1, bands});
}

double to_mel(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}
double to_hertz(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

// The spectrum bins at the corners of the triangles: band i rises from corner i to i + 1 and falls to i + 2.
std::vector<int64_t> corners(const ReferenceContext& context, int64_t bins, int64_t bands) {
  const double rate = context.real(kRate, 1), length = context.real(kLength, 1);
  const double low = to_mel(context.real(kLowest, 0)), high = to_mel(context.real(kHighest, 0));
  const double step = (high - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double bin = std::floor((length + 1) * to_hertz(low + step * static_cast<double>(i)) / rate);
    if (!(bin >= 0 && bin < static_cast<double>(bins)))
      throw bad_input("the edges lie outside of the spectrum's {} bins", bins);
    result.push_back(static_cast<int64_t>(bin));
  }
  return result;
}

void reference_mel_weight_matrix(ReferenceContext& context) {
  const Dims out = context.out_dims(0);
  const int64_t bins = out[0], bands = out[1];
  std::vector<double> weights(static_cast<size_t>(element_count(out)));
  if (weights.empty()) return context.store(0, out, weights);
  const auto corner = corners(context, bins, bands);
  for (int64_t band = 0; band < bands; ++band) {
    const auto weight = [&](int64_t bin) -> double& {
      return weights[static_cast<size_t>(bin * bands + band)];
    };
    const int64_t left = corner[static_cast<size_t>(band)], peak = corner[static_cast<size_t>(band) + 1],
                  right = corner[static_cast<size_t>(band) + 2];
    for (int64_t bin = left; bin < peak; ++bin)
      weight(bin) = static_cast<double>(bin - left) / static_cast<double>(peak - left);
    weight(peak) = 1;
    for (int64_t bin = peak; bin < right; ++bin)
      weight(bin) = static_cast<double>(right - bin) / static_cast<double>(right - peak);
  }
  context.store(0, out, weights);
}

}  // namespace

void register_mel_weight_matrix(OpRegistry& registry) {
  registry.add({.op = "MelWeightMatrix",
                .operands = {Role::kSetting, Role::kSetting, Role::kSetting, Role::kSetting, Role::kSetting},
                .attributes = {{"output_datatype", "INT"}},
                .precision = PrecisionClass::kStatesType,
                .since = {17, 17},
                .infer = infer_mel_weight_matrix,
                .reference = reference_mel_weight_matrix});
}

}  // namespace vernier::ops
