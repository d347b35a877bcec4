// Matrix products of int8 accumulated in int32: MatMulInteger, and what makes floats of them. oneDNN sums the
// products as they are; what zero points add is taken off by rows, where the floats are made, too. So zero
// points and scales may come when it runs, and may be of rows and columns.
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/epilogue/integer_block_epilogue.h"
#include "vernier/backends/cpu/int8_gemm/integer_sums.h"
#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/integer_matmul_kernel.h"
#include "vernier/backends/cpu/onednn/requantization.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

namespace {

// One, or one for each of `count` along the last axis but `behind`.
bool is_vector(const KernelRequest& request, std::optional<size_t> input, int64_t count) {
  if (!input || request.in(*input).size() == 1) return true;
  const Operand& operand = request.in(*input);
  return operand.size() == count && operand.dims.back() == count;
}

// One, one for each row of a matrix, or one for each row of all.
bool is_of_rows(const KernelRequest& request, std::optional<size_t> input, const Operand& a) {
  if (!input || request.in(*input).size() == 1) return true;
  if (a.rank() < 2) return false;
  const Operand& zeros = request.in(*input);
  const int64_t rows = a.dims[a.dims.size() - 2];
  if (zeros.rank() == 1) return zeros.size() == rows;
  Dims each(a.dims.size(), 1), all = a.dims;
  each[each.size() - 2] = rows;
  all.back() = 1;
  return zeros.dims == each || zeros.dims == all;
}

bool is_served_integer_matmul(const KernelRequest& request, const IntegerProduct& product) {
  constexpr int64_t kMaxDepth = 1 << 23;  // of sum_bytes
  const Operand &a = request.in(product.a), &b = request.in(product.b), &y = request.out();
  const int64_t columns = b.rank() < 2 ? 1 : b.dims.back();
  const auto is_float = [&](std::optional<size_t> input) {
    return !input || request.in(*input).element == ElementType::kFloat;
  };
  const bool scalar_a = !product.a_scale || request.in(*product.a_scale).size() == 1;
  const bool known_type =
      product.b_scale ? y.element == ElementType::kFloat : y.element == ElementType::kInt32;
  // A zero point of a product of more matrices than one of b is one for all columns, as it lies.
  return product.a != product.b && is_8bit(b.element) && known_type && scalar_a &&
         is_float(product.a_scale) && is_float(product.b_scale) && is_float(product.bias) && a.rank() >= 1 &&
         b.rank() >= 1 && a.rank() <= 6 && b.rank() <= 6 && a.size() > 0 && b.size() > 0 && y.size() > 0 &&
         (product.quantizes ? a.element == ElementType::kFloat : is_8bit(a.element)) &&
         a.dims.back() <= kMaxDepth && is_vector(request, product.b_zero, columns) &&
         is_vector(request, product.b_scale, columns) && is_vector(request, product.bias, columns) &&
         (!product.bias || request.in(*product.bias).size() == columns) &&
         is_of_rows(request, product.a_zero, a);
}

bool is_known_zero(const KernelRequest& request, std::optional<size_t> input) {
  if (!input) return true;
  const Tensor* content = request.in(*input).constant;
  if (content == nullptr) return false;
  const auto values = content->to_doubles();
  return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
}

Zeros zeros_of(const KernelRequest& request, std::optional<size_t> input) {
  if (!input) return {};
  return {input, request.in(*input).element, request.in(*input).size()};
}

IntegerMatMulPlan plan_of(const KernelRequest& request, const IntegerProduct& product, const Product& shape,
                          const std::optional<SignedWeights>& packed) {
  const Operand &a = request.in(product.a), &b = request.in(product.b);
  IntegerMatMulPlan plan{product,
                         Matrices(shape),
                         zeros_of(request, product.a_zero),
                         zeros_of(request, product.b_zero),
                         a.size(),
                         b.size(),
                         a.element == ElementType::kInt8,
                         !packed && b.element == ElementType::kUint8,
                         packed.has_value(),
                         product.b_scale.has_value()};
  const int64_t columns = plan.matrices.columns;
  if (product.b_scale) plan.b_scales = request.in(*product.b_scale).size();
  if (b.element == ElementType::kUint8) plan.b_zeros.shift = -static_cast<int32_t>(kSignedShift);
  if (!product.b_zero || request.in(*product.b_zero).constant != nullptr) {
    std::vector<const void*> inputs(request.inputs.size());
    if (product.b_zero) inputs[*product.b_zero] = request.in(*product.b_zero).constant->raw();
    auto& zeros = plan.known_b_zeros.emplace();
    for (int64_t i = 0; i < columns; ++i) zeros.push_back(plan.b_zeros.at(inputs.data(), i));
    if (std::all_of(zeros.begin(), zeros.end(), [](int32_t zero) { return zero == 0; })) zeros.clear();
  }
  if (!product.quantizes && is_known_zero(request, product.a_zero)) {
    plan.known_column_sums.emplace();
  } else if (packed) {
    plan.known_column_sums.emplace(static_cast<size_t>(columns));
    sum_int8_rows(static_cast<const uint8_t*>(packed->content.raw()), plan.matrices.depth, columns, columns,
                  true, plan.known_column_sums->data());
  }
  return plan;
}

// The sums as they are, of inputs 0 and 1.
std::unique_ptr<DnnlKernel> make_sums(const KernelRequest& request, ElementType a_type,
                                      const Product& product, const std::optional<SignedWeights>& packed) {
  constexpr auto kByte = dnnl::memory::data_type::s8;
  const auto work = static_cast<double>(element_count(product.y)) * static_cast<double>(product.a.back());
  const int threads = threads_for(2 * work, static_cast<double>(element_count(product.b)));
  const ThreadLimit scope(threads);
  const auto a_md = plain(*dnnl_type(a_type), product.a), b_md = plain(kByte, product.b),
             y_md = plain(dnnl::memory::data_type::s32, product.y);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const auto pd =
      describe_matmul(a_md, packed ? any(kByte, product.b) : b_md, std::nullopt, y_md, attributes);
  Argument weights{DNNL_ARG_WEIGHTS, packed ? pd.weights_desc() : b_md, packed ? -1 : 1, -1, std::nullopt};
  if (packed) weights.own = pack(request, packed->content, b_md, pd.weights_desc());
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, a_md, 0, -1, std::nullopt},
                                     {DNNL_ARG_DST, y_md, -1, 0, std::nullopt},
                                     std::move(weights)};
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->contract = {ElementType::kInt32, ElementType::kInt32, ElementType::kInt32,
                      NumericsContract::Order::kBlocked};
  kernel->threads = threads == 1 ? 1 : 0;
  return kernel;
}

// The same where oneDNN would not sum exactly.
std::unique_ptr<Kernel> make_pair_sums(const KernelRequest& request, ElementType a_type, const Product& shape,
                                       const std::optional<SignedWeights>& packed) {
  const int64_t columns = shape.y.back(), depth = shape.a.back();
  const NumericsContract contract{ElementType::kInt32, ElementType::kInt32, ElementType::kInt32,
                                  NumericsContract::Order::kBlocked};
  const PairRows a{0, a_type == ElementType::kInt8};
  auto finish = std::make_unique<NoEpilogue>(columns);
  if (!packed) return make_pair_batches({Matrices(shape), a, {1, true}}, std::move(finish), contract);
  const auto order = PairWeights::of_matrix(depth, columns, false);
  return make_pair_contraction(a, PairWindows::of_matrix(element_count(shape.a) / depth, depth), order,
                               pack_pair_weights(request, packed->content, order), std::move(finish),
                               contract);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  const auto product = parse_integer_product(request, reason);
  if (!product) return nullptr;
  reason = "products of int8 have one scale for a, and zero points of rows and columns";
  if (!is_served_integer_matmul(request, *product)) return nullptr;
  const Operand &a = request.in(product->a), &b = request.in(product->b);
  const Product shape = product_of(*product->anchor, a, b, request.out());
  std::optional<SignedWeights> packed;
  if (b.constant != nullptr && shape.b.size() == 2) packed = signed_weights(*b.constant, {});
  const ElementType a_type = product->quantizes ? ElementType::kUint8 : a.element;
  std::unique_ptr<Kernel> sums;
  if (accumulates_int8_exactly())
    sums = make_sums(request, a_type, shape, packed);
  else
    sums = make_pair_sums(request, a_type, shape, packed);
  return make_integer_matmul(std::move(sums), plan_of(request, *product, shape, packed));
}

}  // namespace

void register_integer_matmul(KernelRegistry& registry) {
  registry.add({"", "MatMulInteger", LayoutRule::kPlain, Priority::kLibrary, unless_refused<make>});
  registry.add({"com.microsoft", "MatMulIntegerToFloat", LayoutRule::kPlain, Priority::kLibrary,
                unless_refused<make>});
  registry.add({"com.microsoft", "DynamicQuantizeMatMul", LayoutRule::kPlain, Priority::kLibrary,
                unless_refused<make>});
  registry.add({"vernier", "Group/imatmul", LayoutRule::kPlain, Priority::kLibrary, unless_refused<make>});
}

}  // namespace vernier::cpu
