#include "vernier/backends/shared/faults/contraction.h"

#include <cmath>
#include <cstring>

#include "vernier/base/threads.h"
#include "vernier/numeric/minifloat.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/matmul.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier {

namespace {

// The sum of two floats in f32, cut off: at most an ulp too small, and never too large.
double truncated(double sum) {
  const auto rounded = static_cast<float>(sum);
  return std::abs(static_cast<double>(rounded)) > std::abs(sum) ? std::nextafter(rounded, 0.0F) : rounded;
}

// Adds product after product, and loses something each time.
class FaultySum {
 public:
  explicit FaultySum(Fault fault) : half_(fault == Fault::kFp16Accumulator) {}
  void add(double a, double b) {
    const double sum = value_ + a * b;
    value_ = half_ ? static_cast<double>(Float16(sum)) : truncated(sum);
  }
  double value() const { return value_; }

 private:
  bool half_;
  double value_ = 0;
};

// A row of products: `count` pairs, each side with its own stride.
struct Row {
  const double *a, *b;
  int64_t a_stride, b_stride, count;
};

double sum_of(Fault fault, const Row& row) {
  FaultySum sum(fault);
  for (int64_t k = 0; k < row.count; ++k) sum.add(row.a[k * row.a_stride], row.b[k * row.b_stride]);
  return sum.value();
}

using Reals = std::vector<double>;

Reals faulty_gemm(Fault fault, const KernelRequest& request, const std::vector<Reals>& in) {
  const Dims &a = request.in(0).dims, &y = request.out().dims;
  const bool a_transposed = ops::integer_attribute(request.node, "transA") != 0,
             b_transposed = ops::integer_attribute(request.node, "transB") != 0;
  const double alpha = ops::real_attribute(request.node, "alpha"),
               beta = ops::real_attribute(request.node, "beta");
  const int64_t rows = y[0], columns = y[1], inner = a[a_transposed ? 0 : 1];
  Reals sums(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t m = i / columns, n = i % columns;
    const Row row{in[0].data() + (a_transposed ? m : m * inner),
                  in[1].data() + (b_transposed ? n * inner : n), a_transposed ? rows : 1,
                  b_transposed ? 1 : columns, inner};
    double& sum = sums[static_cast<size_t>(i)];
    sum = alpha * sum_of(fault, row);
    if (!request.has(2)) continue;
    const Dims& c = request.in(2).dims;  // broadcast from the right
    const int64_t c_columns = c.empty() ? 1 : c.back(), c_rows = c.size() < 2 ? 1 : c[0];
    sum += beta * in[2][static_cast<size_t>((c_rows == 1 ? 0 : m) * c_columns + (c_columns == 1 ? 0 : n))];
  }
  return sums;
}

// Where in a tensor, whose axes are aligned at the right, a batch of the output reads its matrix.
int64_t matrix_of(int64_t batch, const Dims& output_batch, const Dims& dims) {
  int64_t at = 0, scale = 1;
  for (size_t back = 1; back <= output_batch.size(); ++back) {
    const int64_t size = output_batch[output_batch.size() - back], index = batch % size;
    batch /= size;
    if (back + 2 > dims.size()) continue;
    const int64_t own = dims[dims.size() - 2 - back];
    at += (own == 1 ? 0 : index) * scale;
    scale *= own;
  }
  return at;
}

Reals faulty_matmul(Fault fault, const KernelRequest& request, const std::vector<Reals>& in) {
  Dims a = request.in(0).dims, b = request.in(1).dims;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const Dims batch = ops::matmul_shape(a, b);
  const Dims batches(batch.begin(), batch.end() - 2);
  const int64_t rows = a.end()[-2], inner = a.back(), columns = b.back();
  Reals sums(static_cast<size_t>(request.out().size()));
  for (int64_t i = 0; i < request.out().size(); ++i) {
    const int64_t matrix = i / (rows * columns), m = i / columns % rows, n = i % columns;
    const Row row{in[0].data() + (matrix_of(matrix, batches, a) * rows + m) * inner,
                  in[1].data() + matrix_of(matrix, batches, b) * inner * columns + n, 1, columns, inner};
    sums[static_cast<size_t>(i)] = sum_of(fault, row);
  }
  return sums;
}

// One window: the taps of all its channels, in the order of the weights.
double window_sum(Fault fault, const ops::Convolution& convolution, const double* image,
                  const double* weights, int64_t window) {
  const ops::WindowAxes& axes = convolution.axes;
  const int64_t taps = ops::tap_count(axes), plane = ops::input_count(axes);
  const int64_t last_taps = axes.back().kernel, last_windows = axes.back().output;
  FaultySum sum(fault);
  for (int64_t k = 0; k < convolution.in_channels * taps; ++k) {
    const int64_t tap = k % taps, row = ops::input_row(axes, window / last_windows, tap / last_taps),
                  column = axes.back().at(window % last_windows, tap % last_taps);
    if (row < 0 || column < 0 || column >= axes.back().input) continue;
    sum.add(image[k / taps * plane + row * axes.back().input + column], weights[k]);
  }
  return sum.value();
}

Reals faulty_convolution(Fault fault, const KernelRequest& request, const std::vector<Reals>& in) {
  const auto convolution = ops::Convolution::of(request.node, request.in(0).dims, request.in(1).dims);
  const int64_t windows = ops::output_count(convolution.axes), channels = convolution.all_out_channels();
  const int64_t image = convolution.in_channels * ops::input_count(convolution.axes),
                filter = convolution.in_channels * ops::tap_count(convolution.axes);
  Reals sums(static_cast<size_t>(request.out().size()));
  parallel_for(request.out().size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i / windows % channels, batch = i / (windows * channels);
      const int64_t group = channel / convolution.out_channels;
      const double sum =
          window_sum(fault, convolution, in[0].data() + (batch * convolution.groups + group) * image,
                     in[1].data() + channel * filter, i % windows);
      sums[static_cast<size_t>(i)] = sum + (request.has(2) ? in[2][static_cast<size_t>(channel)] : 0);
    }
  });
  return sums;
}

class FaultySums : public Kernel {
 public:
  FaultySums(Fault fault, const KernelRequest& request) : fault_(fault), request_(request) {
    name = fmt::format("sums (fault: {})", fault_name(fault));
    contract = {ElementType::kFloat, ElementType::kFloat, request.out().element,
                NumericsContract::Order::kSequential};
  }

  void run(const KernelArguments& arguments) const override {
    std::vector<Reals> in(request_.inputs.size());
    for (size_t i = 0; i < in.size(); ++i) {
      if (!request_.has(i)) continue;
      in[i] = Tensor::borrow(request_.in(i).element, request_.in(i).dims, arguments.inputs[i], nullptr)
                  .to_doubles();
    }
    const Reals sums = request_.node.op == "Conv"   ? faulty_convolution(fault_, request_, in)
                       : request_.node.op == "Gemm" ? faulty_gemm(fault_, request_, in)
                                                    : faulty_matmul(fault_, request_, in);
    const auto output = Tensor::from_doubles(request_.out().element, request_.out().dims, sums);
    if (output.size() > 0) std::memcpy(arguments.outputs[0], output.raw(), output.byte_size());
  }

 private:
  Fault fault_;
  KernelRequest request_;  // the node belongs to the plan, and so does this
};

}  // namespace

bool sums_products(const Node& node, const Operand& first) {
  if (!node.domain.empty() || !is_float(first.element) || first.element == ElementType::kDouble) return false;
  return node.op == "MatMul" || node.op == "Gemm" || (node.op == "Conv" && first.rank() >= 3);
}

std::unique_ptr<Kernel> make_faulty_sums(Fault fault, const KernelRequest& request, std::string& reason) {
  const auto is_image = [](const std::optional<Operand>& operand) {
    return operand && operand->layout != Layout::kPlain;
  };
  if (std::any_of(request.inputs.begin(), request.inputs.end(), is_image) || is_image(request.outputs[0])) {
    reason = "faulty sums are over plain tensors";
    return nullptr;
  }
  return std::make_unique<FaultySums>(fault, request);
}

}  // namespace vernier
