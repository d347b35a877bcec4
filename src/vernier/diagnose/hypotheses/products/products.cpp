#include "vernier/diagnose/hypotheses/products/products.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/evaluate.h"

namespace vernier {

namespace {

constexpr double kMostElements = 5e7;

int64_t product(const Dims& dims, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t i = first; i < last; ++i) count *= dims[i];
  return count;
}

// The windows of a convolution are what it makes, channel by channel, of kernels that have a one at one place
// each.
Tensor windows(const Node& node, const Tensor& x, const Dims& weights) {
  const int64_t taps = product(weights, 2, weights.size());
  Dims images = x.dims(), dims = weights;
  images[0] *= images[1];
  images[1] = 1;
  dims[0] = taps;
  dims[1] = 1;
  std::vector<double> ones(static_cast<size_t>(taps * taps), 0);
  for (int64_t i = 0; i < taps; ++i) ones[static_cast<size_t>(i * taps + i)] = 1;
  Node conv;
  conv.name = node.name;
  conv.op = "Conv";
  conv.version = 11;
  conv.attributes = node.attributes;
  conv.attributes.erase("group");
  Value result;
  conv.outputs = {&result};
  const Tensor kernels = Tensor::from_doubles(ElementType::kDouble, dims, ones),
               channels = x.reshaped(images);
  return ops::evaluate(conv, {&channels, &kernels}, ops::ReferenceMode::kIdeal).at(0).tensor;
}

std::optional<MatrixProduct> of_convolution(const Member& member, const Tensor& x, const Tensor& weights,
                                            double most) {
  const Node& node = member.node();
  const auto* last = node.find_attribute("channels_last");
  if ((last != nullptr && last->get<int64_t>() != 0) || weights.rank() < 3) return std::nullopt;
  const Dims& dims = member.out().dims();
  MatrixProduct made;
  made.groups = ops::integer_attribute(node, "group");
  made.length = product(weights.dims(), 1, weights.dims().size());
  made.taps = product(weights.dims(), 2, weights.dims().size());
  made.columns = weights.dims()[0] / made.groups;
  const int64_t places = product(dims, 2, dims.size());
  made.rows = dims[0] * places;
  made.column_stride = places;
  const double elements =
      static_cast<double>(made.groups) * static_cast<double>(made.rows) * static_cast<double>(made.length);
  if (elements > kMostElements || elements * static_cast<double>(made.length) > most) return std::nullopt;
  const auto columns = windows(node, x, weights.dims()).to_doubles();
  const auto kernels = weights.to_doubles();
  made.left.resize(columns.size());
  made.right.resize(kernels.size());
  for (int64_t group = 0; group < made.groups; ++group) {
    for (int64_t row = 0; row < made.rows; ++row) {
      const int64_t image = row / places, place = row % places;
      made.row_offset.push_back((image * dims[1] + group * made.columns) * places + place);
      for (int64_t k = 0; k < made.length; ++k)
        made.left[static_cast<size_t>((group * made.rows + row) * made.length + k)] =
            columns[static_cast<size_t>(((image * made.groups + group) * made.length + k) * places + place)];
    }
    for (int64_t column = 0; column < made.columns; ++column) {
      for (int64_t k = 0; k < made.length; ++k)
        made.right[static_cast<size_t>((group * made.length + k) * made.columns + column)] =
            kernels[static_cast<size_t>((group * made.columns + column) * made.length + k)];
    }
  }
  return made;
}

std::vector<double> transposed(const std::vector<double>& from, int64_t rows, int64_t columns) {
  std::vector<double> to(from.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < columns; ++k)
      to[static_cast<size_t>(k * rows + i)] = from[static_cast<size_t>(i * columns + k)];
  }
  return to;
}

std::optional<MatrixProduct> of_matrices(const Member& member, const Tensor& a, const Tensor& b,
                                         double most) {
  const bool gemm = member.op() == "Gemm" || member.op() == "QGemm";
  const bool turn_a = gemm && ops::integer_attribute(member.node(), "transA") != 0,
             turn_b = gemm && ops::integer_attribute(member.node(), "transB") != 0;
  if (a.rank() < 2 || b.rank() < 2 || (turn_a && a.rank() != 2)) return std::nullopt;
  Dims left = a.dims(), right = b.dims();
  if (turn_a) std::swap(left[0], left[1]);
  if (turn_b) std::swap(right[0], right[1]);
  MatrixProduct made;
  made.length = left.back();
  made.columns = right.back();
  const int64_t batches = product(right, 0, right.size() - 2);
  const bool shared = batches == 1;
  if (!shared && (left.size() != right.size() || product(left, 0, left.size() - 2) != batches))
    return std::nullopt;
  made.groups = shared ? 1 : batches;
  made.rows = product(left, 0, left.size() - 1) / made.groups;
  if (static_cast<double>(a.size()) * static_cast<double>(made.columns) > most) return std::nullopt;
  made.left = turn_a ? transposed(a.to_doubles(), a.dims()[0], a.dims()[1]) : a.to_doubles();
  made.right = turn_b ? transposed(b.to_doubles(), b.dims()[0], b.dims()[1]) : b.to_doubles();
  for (int64_t row = 0; row < made.groups * made.rows; ++row) made.row_offset.push_back(row * made.columns);
  return made;
}

}  // namespace

std::optional<std::pair<size_t, size_t>> factors_of(const Node& node) {
  static const std::set<std::string, std::less<>> plain{
      "Conv", "MatMul", "Gemm", "MatMulInteger", "ConvInteger", "MatMulIntegerToFloat"},
      linear{"QLinearConv", "QLinearMatMul", "QGemm"};
  if (plain.contains(node.op)) return std::pair<size_t, size_t>{0, 1};
  if (linear.contains(node.op)) return std::pair<size_t, size_t>{0, 3};
  return std::nullopt;
}

std::optional<MatrixProduct> product_of(const Member& member, const Tensor& left, const Tensor& right,
                                        double most) {
  if (!factors_of(member.node()) || member.out().size() == 0) return std::nullopt;
  const bool convolves = member.op().find("Conv") != std::string::npos;
  return convolves ? of_convolution(member, left, right, most) : of_matrices(member, left, right, most);
}

}  // namespace vernier
