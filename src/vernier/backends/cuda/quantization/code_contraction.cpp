#include "vernier/backends/cuda/quantization/code_contraction.h"

#include "vernier/backends/cuda/cublaslt/lt_multiplication.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/backends/cuda/quantization/contraction_epilogue.h"
#include "vernier/backends/cuda/window_parameters.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;

// A factor as a product reads it.
struct Rows {
  CodeRows rows;
  bool flips = false;  // to INT8, less 128
  int shift() const { return flips ? 128 : 0; }
};

struct Factors {
  Rows a, b;
};

Factors factors_of(const KernelRequest& request, const CodeContraction& asked) {
  const Operand &a = request.in(asked.a.codes), &b = request.in(asked.b.codes);
  if (asked.convolution) return {{rows_of_windows(a, *asked.convolution)}, {rows_of_weights(b.dims)}};
  return {{rows_of_matrix(a.dims)}, {asked.transpose_b ? rows_of_matrix(b.dims) : columns_of_matrix(b.dims)}};
}

// The product of rows with rows, all of `length` codes.
Product product_of(const CodeContraction& asked, int64_t length) {
  Product product = asked.product;
  ProductParameters& p = product.parameters;
  p.k = static_cast<int>(length);
  p.a_row = p.b_column = length;
  p.a_column = p.b_row = 1;
  for (size_t i = 0; i < product.batch_rank; ++i) {
    p.a_batch[i] *= length;
    p.b_batch[i] *= length;
  }
  return product;
}

// Whether the zero point, of codes less `shift`, is 0.
bool is_symmetric(const KernelRequest& request, const CodeOperand& operand, int shift) {
  if (!operand.zero) return shift == 0;
  const Tensor* content = request.in(*operand.zero).constant;
  if (content == nullptr) return false;
  const auto zeros = content->to_doubles();
  return std::all_of(zeros.begin(), zeros.end(), [&](double zero) { return zero == shift; });
}

// Puts the launches of a kernel together.
class Builder {
 public:
  Builder(CudaKernel& kernel, const KernelRequest& request, const CodeContraction& asked)
      : kernel_(kernel), request_(request), asked_(asked) {
    const std::string& op = request.node.op;
    to_output_ = (op == "MatMulInteger" || op == "ConvInteger") && asked.sums.layout == request.out().layout;
  }

  // The places of both factors, and what their zero points need.
  CudaKernel::Place left(const Rows& a) {
    std::optional<CudaKernel::Place> zero;
    if (asked_.a.zero) zero = CudaKernel::input(*asked_.a.zero);
    return place_of(a, asked_.a.codes, asked_.convolution ? zero : std::nullopt);
  }
  CudaKernel::Place right(const Rows& b) { return place_of(b, asked_.b.codes, std::nullopt); }

  void correct(const Factors& factors, const CudaKernel::Place& a, const CudaKernel::Place& b) {
    sums_.a_shift = factors.a.shift();
    sums_.b_shift = factors.b.shift();
    if (!is_symmetric(request_, asked_.a, sums_.a_shift))
      sums_.b_sums = sums_of(factors.b, asked_.b.codes, b);
    if (!is_symmetric(request_, asked_.b, sums_.b_shift))
      sums_.a_sums = sums_of(factors.a, asked_.a.codes, a);
    to_output_ = to_output_ && !sums_.a_sums && !sums_.b_sums;
  }

  // Where sums are to be written.
  CudaKernel::Place target() {
    const auto bytes = static_cast<size_t>(asked_.sums.size()) * sizeof(int32_t);
    return sums_.sums = to_output_ ? CudaKernel::output() : kernel_.more_scratch(bytes);
  }

  bool finish(std::string& reason) {
    if (!to_output_) return add_epilogue(kernel_, request_, asked_, sums_, reason);
    constexpr auto kSum = ElementType::kInt32;
    kernel_.contract = {kSum, kSum, kSum, NumericsContract::Order::kBlocked};
    return true;
  }

 private:
  CudaKernel::Place place_of(const Rows& factor, size_t input, const std::optional<CudaKernel::Place>& zero) {
    const Tensor* known = request_.in(input).constant;
    if (!factor.flips && factor.rows.lie_so()) return CudaKernel::input(input);
    if (known != nullptr && input == asked_.b.codes)
      return packed_rows(kernel_, request_, *known, factor.rows, factor.flips);
    const auto to = kernel_.more_scratch(static_cast<size_t>(factor.rows.count() * factor.rows.length()));
    add_gathering(kernel_, factor.rows, CudaKernel::input(input), zero, factor.flips, to);
    return to;
  }

  CudaKernel::Place sums_of(const Rows& factor, size_t input, const CudaKernel::Place& rows) {
    const Operand& operand = request_.in(input);
    if (operand.constant != nullptr && input == asked_.b.codes)
      return packed_sums(kernel_, request_, *operand.constant, factor.rows, factor.flips);
    const auto to = kernel_.more_scratch(static_cast<size_t>(factor.rows.count()) * sizeof(int32_t));
    add_sums(kernel_, factor.rows, factor.flips ? ElementType::kInt8 : operand.element, rows, to);
    return to;
  }

  CudaKernel& kernel_;
  const KernelRequest& request_;
  const CodeContraction& asked_;
  CodeSums sums_;
  bool to_output_ = false;  // sums are the result
};

// Each channel of a group has a window of its own: sums are made one by one, and need no correction.
Kernels make_grouped(const KernelRequest& request, const CodeContraction& asked, std::string& reason) {
  using P = CodeConvolutionParameters;
  const ops::Convolution& convolution = *asked.convolution;
  const Operand &x = request.in(asked.a.codes), &w = request.in(asked.b.codes);
  const WindowParameters from = rows_of_windows(x, convolution).windows;
  P parameters{};
  set_window(convolution.axes, parameters);
  parameters.batch = static_cast<int>(convolution.batch);
  parameters.groups = static_cast<int>(convolution.groups);
  parameters.in_channels = static_cast<int>(convolution.in_channels);
  parameters.out_channels = static_cast<int>(convolution.out_channels);
  parameters.x_image = from.image_step;
  parameters.x_channel = from.channel_step;
  parameters.x_pixel = from.pixel_step;
  parameters.channels_last = static_cast<int>(asked.sums.layout == Layout::kChannelsLast);
  parameters.w_zero_step = asked.b.zero && !asked.b.zero_dims.empty() ? 1 : 0;
  auto kernel = std::make_unique<CudaKernel>(request, "int8-convolution");
  Builder builder(*kernel, request, asked);
  kernel->launch(kernel_source("code_convolution", {{"X", std::string(device_type(x.element))},
                                                    {"W", std::string(device_type(w.element))}}),
                 grid_over(asked.sums.size()), parameters,
                 {{&P::x, CudaKernel::input(asked.a.codes)}, {&P::w, CudaKernel::input(asked.b.codes)}},
                 {{&P::y, builder.target()}});
  if (asked.a.zero) kernel->add_pointer(offsetof(P, x_zero), CudaKernel::input(*asked.a.zero));
  if (asked.b.zero) kernel->add_pointer(offsetof(P, w_zero), CudaKernel::input(*asked.b.zero));
  return builder.finish(reason) ? std::move(kernel) : nullptr;
}

std::string what_of(const CodeContraction& asked) {
  return asked.convolution ? "int8-convolution" : "int8-product";
}

Kernels make(const KernelRequest& request, std::string& reason) {
  const auto asked = code_contraction(request, reason);
  if (!asked) return nullptr;
  if (asked->convolution && asked->convolution->groups > 1) return make_grouped(request, *asked, reason);
  const Factors factors = factors_of(request, *asked);
  auto kernel = std::make_unique<CudaKernel>(request, what_of(*asked));
  Builder builder(*kernel, request, *asked);
  const auto a = builder.left(factors.a), b = builder.right(factors.b);
  builder.correct(factors, a, b);
  const ProductTypes types{request.in(asked->a.codes).element, request.in(asked->b.codes).element,
                           ElementType::kInt32, ElementType::kInt32};
  if (!add_product(*kernel, product_of(*asked, factors.a.rows.length()), types, a, b, builder.target(),
                   reason) ||
      !builder.finish(reason))
    return nullptr;
  return kernel;
}

// What cuBLASLt is asked for.
struct LibraryProduct {
  CodeContraction asked;
  Factors factors;
  LtProduct product;
  std::shared_ptr<LtMultiplication> multiplication;
};

// Its products of INT8 have rows of both factors of whole words, as many columns, and no batches that
// broadcast.
std::optional<LibraryProduct> library_product(const KernelRequest& request, CublasLt& library,
                                              std::string& reason) {
  constexpr int64_t kWord = 4, kPack = 16;
  if (!multiplies_codes(request.node)) return std::nullopt;
  auto asked = code_contraction(request, reason);
  if (!asked) return std::nullopt;
  if (asked->product.parameters.n % kWord != 0 || (asked->convolution && asked->convolution->groups > 1)) {
    reason = "cuBLASLt multiplies codes by whole words of columns, and no groups of channels";
    return std::nullopt;
  }
  Factors factors = factors_of(request, *asked);
  factors.a.flips = request.in(asked->a.codes).element == ElementType::kUint8;
  factors.b.flips = request.in(asked->b.codes).element == ElementType::kUint8;
  const int64_t depth = factors.a.rows.depth;
  if (factors.a.flips || !factors.a.rows.lie_so() ||
      depth % kWord != 0) {  // what is gathered may as well be aligned
    for (Rows* each : {&factors.a, &factors.b}) each->rows.pad((depth + kPack - 1) / kPack * kPack);
  }
  auto product = lt_product(product_of(*asked, factors.a.rows.length()), ElementType::kInt8, reason);
  if (!product) return std::nullopt;
  const LtHandle handle = library.handle(reason);
  if (handle == nullptr) return std::nullopt;
  auto multiplication = std::make_shared<LtMultiplication>(
      *product, LtTypes{kLtCompute32I, kLtInt32, kLtInt8, kLtInt32}, library, handle);
  return LibraryProduct{std::move(*asked), factors, *product, std::move(multiplication)};
}

// Sums of integers are the same in any order.
bool is_sound(const LtFound& /*way*/) {
  return true;
}

}  // namespace

std::unique_ptr<CudaKernel> make_library_code_contraction(const KernelRequest& request, CublasLt& library,
                                                          std::string& reason) {
  const auto made = library_product(request, library, reason);
  if (!made ||
      !made->multiplication->take(made->multiplication->ways(is_sound, reason), request.tactic, reason))
    return nullptr;
  auto kernel = std::make_unique<CudaKernel>(request, what_of(made->asked));
  kernel->name = "cublaslt:" + what_of(made->asked);
  Builder builder(*kernel, request, made->asked);
  const auto a = builder.left(made->factors.a), b = builder.right(made->factors.b);
  builder.correct(made->factors, a, b);
  const auto scratch = kernel->more_scratch(made->multiplication->scratch_bytes());
  kernel->call({b, a, builder.target(), scratch},
               [multiplication = made->multiplication, name = kernel->name](const std::vector<std::byte*>& at,
                                                                            StreamHandle stream) {
                 constexpr int32_t kOne = 1, kNone = 0;
                 multiplication->enqueue(&kOne, &kNone, {at[0], at[1], at[2], at[2], at[3]}, stream, name);
               });
  return builder.finish(reason) ? std::move(kernel) : nullptr;
}

std::vector<std::string> library_code_tactics(const KernelRequest& request, CublasLt& library) {
  std::string reason;
  const auto made = library_product(request, library, reason);
  std::vector<std::string> names;
  if (!made) return names;
  for (const LtFound& way : made->multiplication->ways(is_sound, reason))
    names.push_back(made->multiplication->tactic_of(way));
  return names;
}

bool multiplies_codes(const Node& node) {
  return KernelRegistry::instance().find(node) == make;
}

void lay_out_codes(KernelRequest& request) {
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
  std::string reason;
  const auto asked = code_contraction(request, reason);
  if (!asked || !asked->convolution) return;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    auto& input = request.inputs[i];
    if (input && input->constant == nullptr && (i == asked->a.codes || input->dims == request.out().dims))
      input->layout = Layout::kChannelsLast;
  }
  request.outputs[0]->layout = Layout::kChannelsLast;
}

void register_code_contraction(KernelRegistry& registry) {
  for (const char* op : {"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"})
    registry.add("", op, make, true);
  for (const char* op : {"QLinearConv", "QGemm", "MatMulIntegerToFloat"})
    registry.add("com.microsoft", op, make, true);
  for (const char* kind : {"Group/qconv", "Group/qmatmul"}) registry.add("vernier", kind, make, true);
}

}  // namespace vernier::cuda
