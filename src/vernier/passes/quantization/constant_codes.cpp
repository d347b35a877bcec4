#include "vernier/passes/quantization/constant_codes.h"

#include <algorithm>
#include <cmath>

#include "vernier/passes/match.h"

namespace vernier {

namespace {

constexpr double kInt8Max = 127;

// Which elements share a scale.
class Slices {
 public:
  Slices(const Tensor& codes, const Quantization& from) : along_(from.scales.size()) {
    if (from.is_uniform()) return;
    const auto rank = static_cast<int64_t>(codes.rank());
    const auto axis = static_cast<size_t>(from.axis < 0 ? from.axis + rank : from.axis);
    for (size_t i = axis + 1; i < codes.dims().size(); ++i) inner_ *= static_cast<size_t>(codes.dims()[i]);
  }
  size_t of(size_t element) const { return element / inner_ % along_; }

 private:
  size_t along_, inner_ = 1;
};

std::vector<double> without_zero_points(const Tensor& codes, const Quantization& from) {
  const Slices slices(codes, from);
  auto values = codes.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) values[i] -= from.zero_points[slices.of(i)];
  return values;
}

}  // namespace

AroundZero around_zero(const Tensor& codes, const Quantization& from) {
  const Slices slices(codes, from);
  const auto values = without_zero_points(codes, from);
  std::vector<double> wider(from.scales.size(), 1);
  for (size_t i = 0; i < values.size(); ++i)
    wider[slices.of(i)] = std::max(wider[slices.of(i)], std::abs(values[i]) / kInt8Max);
  std::vector<float> scales(wider.size());
  for (size_t i = 0; i < wider.size(); ++i) scales[i] = static_cast<float>(from.scales[i] * wider[i]);
  std::vector<int64_t> changed(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    changed[i] = static_cast<int64_t>(std::nearbyint(values[i] / wider[slices.of(i)]));
  const Dims dims = from.is_uniform() ? Dims{} : Dims{static_cast<int64_t>(scales.size())};
  return {Tensor::from_ints(ElementType::kInt8, codes.dims(), changed),
          Tensor::from<float>(ElementType::kFloat, dims, scales),
          std::all_of(wider.begin(), wider.end(), [](double factor) { return factor == 1; })};
}

Tensor dequantized_constant(const Tensor& codes, const Quantization& from) {
  const Slices slices(codes, from);
  auto values = without_zero_points(codes, from);
  for (size_t i = 0; i < values.size(); ++i) values[i] *= from.scales[slices.of(i)];
  return Tensor::from_doubles(ElementType::kFloat, codes.dims(), values);
}

CodeRange CodeRange::of(const Quantization& from) {
  const auto first = static_cast<double>(integer_min(from.type)),
             last = static_cast<double>(static_cast<int64_t>(integer_max(from.type)));
  return {(first - from.zero_points[0]) * from.scales[0], (last - from.zero_points[0]) * from.scales[0]};
}

double CodeRange::symmetric_scale() const {
  constexpr double kInt8Max = 127;
  return std::max(-low, high) / kInt8Max;
}

bool is_never_negative(const Value* value) {
  static const std::set<std::string_view> positive = {"Abs",     "HardSigmoid", "Relu",
                                                      "Sigmoid", "Softmax",     "Sqrt"};
  const Node* node = value->producer();
  if (node == nullptr || !node->domain.empty()) return false;
  if (positive.contains(node->op)) return true;
  if (node->op == "Clip") {
    const auto least = scalar_of(node->input(1));
    return least && *least >= 0;
  }
  const bool keeps = node->op == "AveragePool" || node->op == "GlobalAveragePool" || moved_inputs(*node) == 1;
  return keeps && node->op != "Pad" && is_never_negative(node->input(0));
}

}  // namespace vernier
