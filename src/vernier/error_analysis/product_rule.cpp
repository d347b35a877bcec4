// Sums of products: Conv, ConvTranspose, Gemm and MatMul. The operator on squared operands gives the sum of
// the squares of the products of each element, which is all that the model of accumulation needs.
#include <algorithm>
#include <cmath>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

Tensor squared(std::span<const double> values, const Dims& dims) {
  Tensor result(ElementType::kDouble, dims);
  const auto squares = result.mutable_values<double>();
  for_each_element(values.size(), [&](size_t i) { squares[i] = values[i] * values[i]; });
  return result;
}

Tensor squared(const Tensor& tensor) {
  return squared(Doubles(tensor), tensor.dims());
}

Tensor squared_errors(const ElementErrors& operand) {
  return squared(operand.error, operand.value.dims());
}

double scale_of(const Node& node) {
  return node.op == "Gemm" ? static_cast<double>(ops::real_attribute(node, "alpha")) : 1;
}

// The sum of the products of two operands, without what is added to it.
std::vector<double> sum_of_products(const AnalysedNode& node, const Tensor& left, const Tensor& right) {
  auto result = evaluate_unrounded(node.node, {&left, &right}).at(0).to_doubles();
  // Gemm multiplies the sum by alpha once, and a variance is multiplied by its square.
  const double scale = scale_of(node.node);
  for (double& each : result) each *= scale;
  return result;
}

// How many products an element is the sum of.
double terms_of(const AnalysedNode& node) {
  const Dims &x = node.in[0]->value.dims(), &w = node.in[1]->value.dims();
  const auto elements = [](const Dims& dims) { return static_cast<double>(element_count(dims)); };
  if (ops::has_trait(node.node, ops::kConvolution)) {
    const auto outputs = *ops::output_channel_axis(node.node, static_cast<int64_t>(w.size()));
    return elements(w) / static_cast<double>(std::max<int64_t>(1, w[static_cast<size_t>(outputs)]));
  }
  if (node.node.op == "Gemm")
    return static_cast<double>(ops::integer_attribute(node.node, "transA") != 0 ? x[0] : x[1]);
  return static_cast<double>(x.back());
}

// Holds the initial accumulator of an element: bias or C.
class Start {
 public:
  explicit Start(const AnalysedNode& node) {
    if (!node.has(2)) return;
    const double beta =
        node.node.op == "Gemm" ? static_cast<double>(ops::real_attribute(node.node, "beta")) : 1;
    values_ = node.in[2]->value.to_doubles();
    for (double& value : values_) value *= beta;
    const Dims &out = node.out[0]->dims(), &dims = node.in[2]->value.dims();
    if (node.node.op != "Gemm") {
      inner_ = 1;
      for (size_t axis = 2; axis < out.size(); ++axis) inner_ *= static_cast<size_t>(out[axis]);
      columns_ = values_.size();
      column_stride_ = 1;
      return;
    }
    columns_ = static_cast<size_t>(out[1]);
    column_stride_ = !dims.empty() && dims.back() > 1 ? 1 : 0;
    row_stride_ = dims.size() == 2 && dims[0] > 1 ? static_cast<size_t>(dims[1]) : 0;
  }

  double at(size_t element) const {
    if (values_.empty()) return 0;
    const size_t place = element / inner_;
    return values_[place % columns_ * column_stride_ + place / columns_ * row_stride_];
  }

 private:
  std::vector<double> values_;
  size_t inner_ = 1, columns_ = 1, column_stride_ = 0, row_stride_ = 0;
};

// Outputs of one tile of Winograd's share the errors of its transforms and of the sums at its positions,
// which may be large where they cancel in one of the outputs: the largest of a channel stands for all of
// them.
void spread_over_images(std::vector<double>& squares, const Dims& dims) {
  size_t image = 1;
  for (size_t axis = 2; axis < dims.size(); ++axis) image *= static_cast<size_t>(dims[axis]);
  for (size_t begin = 0; image > 0 && begin < squares.size(); begin += image) {
    const auto first = squares.begin() + static_cast<std::ptrdiff_t>(begin),
               last = first + static_cast<std::ptrdiff_t>(image);
    std::fill(first, last, *std::max_element(first, last));
  }
}

}  // namespace

double start_variance(const AnalysedNode& product) {
  return Accumulation(product.contract, terms_of(product)).variance(0, 1, 0) -
         Accumulation(product.contract, terms_of(product)).variance(0, 0, 0);
}

std::vector<double> product_errors(const AnalysedNode& node, std::vector<double>& squares) {
  const ElementErrors &x = *node.in[0], &w = *node.in[1];
  if (squares.empty()) squares = sum_of_products(node, squared(x.value), squared(w.value));
  std::vector<double> met = squares;
  const NumericsContract& contract = node.contract;
  const double growth = winograd_variance_growth(contract.winograd), operands = operand_variance(contract),
               bias = operand_bias(contract);
  const Start start(node);
  constexpr double kTaps = 9;
  const double terms =
      terms_of(node) / (contract.winograd > 0 ? kTaps : 1) + (contract.winograd > 0 ? kTaps : 0);
  const Accumulation accumulation(contract, terms);
  auto sums = node.out[0]->to_doubles();
  if (contract.winograd > 0) {
    for (double& sum : sums) sum = std::abs(sum);
    spread_over_images(met, node.out[0]->dims());
    spread_over_images(sums, node.out[0]->dims());
  }
  std::vector<double> errors(met.size());
  for_each_element(errors.size(), [&](size_t i) {
    errors[i] = std::sqrt(growth * (operands * met[i] + accumulation.variance(met[i], start.at(i), sums[i])));
    if (bias > 0) errors[i] = std::hypot(errors[i], bias * (sums[i] - start.at(i)));
  });
  const auto add_inherited = [&](const Tensor& left, const Tensor& right) {
    auto inherited = sum_of_products(node, left, right);
    for (double& each : inherited) each = std::sqrt(std::max(0.0, each));
    add_independent(errors, inherited);
  };
  if (!x.is_exact()) add_inherited(squared_errors(x), squared(w.value));
  if (!w.is_exact()) add_inherited(squared(x.value), squared_errors(w));
  if (node.has(2) && !node.in[2]->is_exact()) {
    const double largest = *std::max_element(node.in[2]->error.begin(), node.in[2]->error.end());
    for (double& each : errors) each = root_of_squares(each, largest);
  }
  return errors;
}

}  // namespace vernier
