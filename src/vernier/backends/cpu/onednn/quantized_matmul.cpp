// Matrix products of int8: groups of DequantizeLinear, MatMul or Gemm and QuantizeLinear, QLinearMatMul and
// QGemm.
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/matmul.h"
#include "vernier/backends/cpu/onednn/post_ops.h"
#include "vernier/backends/cpu/onednn/requantization.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

constexpr size_t kMaxInputs = 64;

// oneDNN takes INT8 on the right: there UINT8 is moved by 128 before the product.
class ShiftedProduct : public Kernel {
 public:
  ShiftedProduct(std::unique_ptr<DnnlKernel> product, size_t input, int64_t count, size_t inputs)
      : product_(std::move(product)), input_(input), inputs_(inputs), count_(count) {
    name = product_->name;
    contract = product_->contract;
    in_place = product_->in_place;
    offset_ = (product_->scratch_bytes + 63) / 64 * 64;
    scratch_bytes = offset_ + static_cast<size_t>(count);
  }

  void run(const KernelArguments& arguments) const override {
    const auto* from = static_cast<const uint8_t*>(arguments.inputs[input_]);
    auto* to = reinterpret_cast<uint8_t*>(arguments.scratch + offset_);
    for (int64_t i = 0; i < count_; ++i) to[i] = from[i] ^ 0x80U;
    const void* inputs[kMaxInputs];
    std::copy_n(arguments.inputs, inputs_, inputs);
    inputs[input_] = to;
    product_->run({inputs, arguments.outputs, arguments.scratch});
  }

  void prepare() const override { product_->prepare(); }
  bool is_prepared() const override { return product_->is_prepared(); }

 private:
  std::unique_ptr<DnnlKernel> product_;
  size_t input_, inputs_, offset_ = 0;
  int64_t count_;
};

// Adds up each column of the weights [K, N], or [N, K].
std::vector<double> sums_of(const Tensor& weights, bool transposed) {
  const auto rows = weights.dims()[0], columns = weights.dims()[1];
  const auto* values = static_cast<const int8_t*>(weights.raw());
  std::vector<double> sums(static_cast<size_t>(transposed ? rows : columns));
  for (int64_t i = 0; i < weights.size(); ++i)
    sums[static_cast<size_t>(transposed ? i / columns : i % columns)] += values[i];
  return sums;
}

bool is_served_quantized_matmul(const KernelRequest& request, const QuantizedProduct& product) {
  const Operand &a = request.in(product.a), &b = request.in(product.b), &y = request.out();
  const bool plain_b = b.rank() == 2 || product.b_scales.size() == 1;
  return product.a != product.b && a.rank() <= 6 && b.rank() >= 2 && y.size() > 0 && a.size() > 0 &&
         plain_b && (product.bias.empty() || b.rank() == 2) && request.inputs.size() <= kMaxInputs &&
         (is_8bit(y.element) || y.element == ElementType::kFloat) && accumulates_int8_exactly();
}

// The right matrix, with what is known of it.
struct Right {
  std::optional<SignedWeights> known;  // a matrix to be packed
  double zero_point = 0;               // as INT8
  bool shifts = false;                 // when it runs
};

std::optional<Right> right_of(const Operand& b, const std::vector<double>& zero_points) {
  Right result;
  if (b.constant != nullptr && b.rank() == 2) {
    result.known = signed_weights(*b.constant, zero_points);
    if (!result.known) return std::nullopt;
    result.zero_point = result.known->zero_point;
    return result;
  }
  if (zero_points.size() != 1) return std::nullopt;
  result.shifts = b.element == ElementType::kUint8;
  result.zero_point = zero_points[0] - (result.shifts ? kSignedShift : 0);
  return result;
}

// Sets the zero points of both matrices, unless the bias, which is returned, makes up for them.
std::optional<std::vector<float>> take_zero_points(const QuantizedProduct& quantized, const Right& right,
                                                   const Product& product, Epilogue& epilogue) {
  double zero_point = quantized.a_affine.zero_point;
  std::optional<std::vector<float>> bias;
  std::vector<double> sums(static_cast<size_t>(product.y.back()));
  if (right.known && right.zero_point == 0) {
    sums = sums_of(right.known->content, product.transpose_b);
    bias = bias_of_sums(quantized, zero_point, sums);
  }
  if (bias)
    zero_point = 0;
  else if (!quantized.bias.empty())
    bias = bias_of_sums(quantized, 0, sums);
  set_zero_point(epilogue, DNNL_ARG_SRC, zero_point);
  set_zero_point(epilogue, DNNL_ARG_WEIGHTS, right.zero_point);
  return bias;
}

std::unique_ptr<Kernel> make_quantized_matmul(const KernelRequest& request, std::string& reason) {
  const auto quantized = parse_quantized(request, reason);
  if (!quantized) return nullptr;
  reason = "oneDNN multiplies int8 with one zero point for all, where it has VNNI";
  if (!is_served_quantized_matmul(request, *quantized)) return nullptr;
  const Operand &a = request.in(quantized->a), &b = request.in(quantized->b), &y = request.out();
  const auto right = right_of(b, quantized->b_zero_points);
  if (!right) return nullptr;
  const Product product = product_of(*quantized->anchor, a, b, y);
  const auto flat = flattened(request, product);
  auto epilogue = make_requantization(*quantized, flat, product.y.size() - 1, reason);
  if (!epilogue) return nullptr;
  const auto bias = take_zero_points(*quantized, *right, product, *epilogue);
  constexpr auto kByte = dnnl::memory::data_type::s8;
  const double depth = static_cast<double>(product.a.back());
  const int threads =
      threads_for(2 * static_cast<double>(y.size()) * depth,
                  static_cast<double>(b.size()) * static_cast<double>(element_size(b.element)));
  const ThreadLimit scope(threads);
  const auto a_md = plain(*dnnl_type(a.element), product.a),
             b_md = matrix(kByte, product.b, product.transpose_b),
             y_md = plain(*dnnl_type(y.element), product.y);
  Dims bias_dims(product.y.size(), 1), packed_dims = product.b;
  bias_dims.back() = product.y.back();
  if (product.transpose_b) std::swap(packed_dims[0], packed_dims[1]);
  std::optional<dnnl::memory::desc> bias_md;
  if (bias) bias_md = plain(dnnl::memory::data_type::f32, bias_dims);
  const auto pd = describe_matmul(a_md, right->known ? any(kByte, packed_dims) : b_md, bias_md, y_md,
                                  epilogue->attributes);
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, a_md, static_cast<int>(quantized->a), -1, std::nullopt},
                                     {DNNL_ARG_DST, y_md, -1, 0, std::nullopt}};
  if (right->known)
    arguments.push_back({DNNL_ARG_WEIGHTS, pd.weights_desc(), -1, -1,
                         pack(request, right->known->content, b_md, pd.weights_desc())});
  else
    arguments.push_back({DNNL_ARG_WEIGHTS, b_md, static_cast<int>(quantized->b), -1, std::nullopt});
  if (bias) arguments.push_back({DNNL_ARG_BIAS, *bias_md, -1, -1, own_floats(*bias, *bias_md)});
  arguments.insert(arguments.end(), epilogue->arguments.begin(), epilogue->arguments.end());
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->contract = {ElementType::kFloat, ElementType::kInt32, y.element, NumericsContract::Order::kBlocked};
  kernel->threads = threads == 1 ? 1 : 0;
  kernel->in_place = kernel->accumulate_into = epilogue->sum_input;
  kernel->accumulate_bytes = y_md.get_size();
  if (!right->shifts) return kernel;
  return std::make_unique<ShiftedProduct>(std::move(kernel), quantized->b, b.size(), request.inputs.size());
}

}  // namespace

void register_quantized_matmul(KernelRegistry& registry) {
  registry.add({"vernier", "Group/qmatmul", LayoutRule::kPlain, Priority::kLibrary,
                unless_refused<make_quantized_matmul>});
  registry.add(
      {"", "QLinearMatMul", LayoutRule::kPlain, Priority::kLibrary, unless_refused<make_quantized_matmul>});
  registry.add({"com.microsoft", "QGemm", LayoutRule::kPlain, Priority::kLibrary,
                unless_refused<make_quantized_matmul>});
}

}  // namespace vernier::cpu
