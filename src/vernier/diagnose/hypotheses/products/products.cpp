#include "vernier/diagnose/hypotheses/products/products.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/nn/window.h"

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
Tensor windows(const AttributeMap& attributes, const Tensor& x, const Dims& weights) {
  const int64_t taps = product(weights, 2, weights.size());
  Dims images = x.dims(), dims = weights;
  images[0] *= images[1];
  images[1] = 1;
  dims[0] = taps;
  dims[1] = 1;
  std::vector<double> ones(static_cast<size_t>(taps * taps), 0);
  for (int64_t i = 0; i < taps; ++i) ones[static_cast<size_t>(i * taps + i)] = 1;
  Node conv;
  conv.op = "Conv";
  conv.version = 11;
  conv.attributes = attributes;
  conv.attributes.erase("group");
  Value result;
  conv.outputs = {&result};
  const Tensor kernels = Tensor::from_doubles(ElementType::kDouble, dims, ones),
               channels = x.reshaped(images);
  return ops::evaluate(conv, {&channels, &kernels}, ops::ReferenceMode::kIdeal).at(0).tensor;
}

std::optional<MatrixProduct> of_convolution(const AttributeMap& attributes, int64_t groups, const Tensor& x,
                                            const Tensor& weights, const Dims& dims, double most) {
  MatrixProduct made;
  made.groups = groups;
  made.length = product(weights.dims(), 1, weights.dims().size());
  made.taps = product(weights.dims(), 2, weights.dims().size());
  made.columns = weights.dims()[0] / made.groups;
  const int64_t places = product(dims, 2, dims.size());
  made.rows = dims[0] * places;
  made.column_stride = places;
  const double elements =
      static_cast<double>(made.groups) * static_cast<double>(made.rows) * static_cast<double>(made.length);
  if (elements > kMostElements || elements * static_cast<double>(made.length) > most) return std::nullopt;
  const auto columns = windows(attributes, x, weights.dims()).to_doubles();
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

// A transposed convolution is one of the input with zeros between its elements, by kernels that are mirrored.
// Nothing where the kernel has gaps, or the padding takes away more than windows reach.
std::optional<MatrixProduct> of_transposed_convolution(const Member& member, const Tensor& x,
                                                       const Tensor& weights, double most) {
  const Dims &from = x.dims(), &kernel = weights.dims(), &out = member.out().dims();
  const size_t rank = from.size() - 2;
  const auto given = ops::window_attributes(member.node(), rank);
  const int64_t groups = ops::integer_attribute(member.node(), "group"), each = from[1] / groups;
  if (given.auto_pad != ops::AutoPad::kNotSet || member.node().find_attribute("output_shape") != nullptr)
    return std::nullopt;
  Dims stuffed = from, turned{kernel[1] * groups, each};
  std::vector<int64_t> pads(2 * rank);
  for (size_t i = 0; i < rank; ++i) {
    if (given.dilations[i] != 1) return std::nullopt;
    stuffed[i + 2] = (from[i + 2] - 1) * given.strides[i] + 1;
    turned.push_back(kernel[i + 2]);
    pads[i] = kernel[i + 2] - 1 - given.pads_begin[i];
    pads[i + rank] = out[i + 2] - stuffed[i + 2] - pads[i] + kernel[i + 2] - 1;
    if (pads[i] < 0 || pads[i + rank] < 0) return std::nullopt;
  }
  const auto values = x.to_doubles(), w = weights.to_doubles();
  std::vector<double> input(static_cast<size_t>(element_count(stuffed)), 0), mirrored(w.size());
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, stride = 1;
    for (size_t axis = from.size(); axis-- > 0;) {
      const int64_t index = rest % from[axis];
      rest /= from[axis];
      at += stride * index * (axis < 2 ? 1 : given.strides[axis - 2]);
      stride *= stuffed[axis];
    }
    input[static_cast<size_t>(at)] = values[i];
  }
  const int64_t taps = product(kernel, 2, kernel.size());
  for (int64_t c = 0; c < from[1]; ++c) {
    for (int64_t o = 0; o < kernel[1]; ++o) {
      for (int64_t tap = 0; tap < taps; ++tap)
        mirrored[static_cast<size_t>(((c / each * kernel[1] + o) * each + c % each) * taps + taps - 1 -
                                     tap)] = w[static_cast<size_t>((c * kernel[1] + o) * taps + tap)];
    }
  }
  const AttributeMap attributes{{"pads", Attribute(pads)}};
  return of_convolution(attributes, groups, Tensor::from_doubles(ElementType::kDouble, stuffed, input),
                        Tensor::from_doubles(ElementType::kDouble, turned, mirrored), out, most);
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
  static const std::set<std::string, std::less<>> products{
      "MatMulInteger", "ConvInteger", "MatMulIntegerToFloat", "QLinearConv", "QLinearMatMul", "QGemm"};
  if (!products.contains(node.op) && !ops::has_trait(node, ops::kProducts)) return std::nullopt;
  return std::pair<size_t, size_t>{0, *ops::input_of(node, ops::Role::kWeight)};
}

std::optional<MatrixProduct> product_of(const Member& member, const Tensor& left, const Tensor& right,
                                        double most) {
  if (!factors_of(member.node()) || member.out().size() == 0) return std::nullopt;
  if (!ops::has_trait(member.node(), ops::kConvolution)) return of_matrices(member, left, right, most);
  const auto* last = member.node().find_attribute("channels_last");
  if ((last != nullptr && last->get<int64_t>() != 0) || right.rank() < 3) return std::nullopt;
  if (member.is("ConvTranspose")) return of_transposed_convolution(member, left, right, most);
  return of_convolution(member.node().attributes, ops::integer_attribute(member.node(), "group"), left, right,
                        member.out().dims(), most);
}

}  // namespace vernier
