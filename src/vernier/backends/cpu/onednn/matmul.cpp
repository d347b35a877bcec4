// MatMul and Gemm, alone or with an epilogue. A constant second operand is packed when the kernel is made.
#include "vernier/backends/cpu/onednn/matmul.h"

#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/onednn/exact_post_ops.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cpu {

Product product_of(const Node& node, const Operand& a, const Operand& b, const Operand& y) {
  Product product{a.dims, b.dims, y.dims};
  if (node.op.ends_with("Gemm")) {
    product.transpose_a = ops::integer_attribute(node, "transA") != 0;
    product.transpose_b = ops::integer_attribute(node, "transB") != 0;
    return product;
  }
  if (product.a.size() == 1) product.a.insert(product.a.begin(), 1);
  if (product.b.size() == 1) product.b.push_back(1);
  const int64_t k = product.a.back(), n = product.b.back();
  if (product.b.size() == 2) {
    const int64_t rows = k == 0 ? 0 : element_count(product.a) / k;
    return {{rows, k}, product.b, {rows, n}};
  }
  const size_t rank = std::max(product.a.size(), product.b.size());
  product.a.insert(product.a.begin(), rank - product.a.size(), 1);
  product.b.insert(product.b.begin(), rank - product.b.size(), 1);
  product.y.clear();
  for (size_t i = 0; i + 2 < rank; ++i) product.y.push_back(std::max(product.a[i], product.b[i]));
  product.y.push_back(product.a[rank - 2]);
  product.y.push_back(n);
  return product;
}

dnnl::memory::desc matrix(dnnl::memory::data_type type, const Dims& dims, bool transposed) {
  auto descriptor = plain(type, dims);
  if (!transposed) return descriptor;
  return descriptor.permute_axes({1, 0});
}

dnnl::matmul::primitive_desc describe_matmul(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                             const std::optional<dnnl::memory::desc>& bias,
                                             const dnnl::memory::desc& y,
                                             const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return bias ? dnnl::matmul::primitive_desc(dnnl_engine(), a, b, *bias, y, attributes)
              : dnnl::matmul::primitive_desc(dnnl_engine(), a, b, y, attributes);
#else
  using Desc = dnnl::matmul::desc;
  return {bias ? Desc(a, b, *bias, y) : Desc(a, b, y), attributes, dnnl_engine()};
#endif
}

KernelRequest flattened(const KernelRequest& request, const Product& product) {
  KernelRequest flat = request;
  for (auto& input : flat.inputs) {
    if (input && input->dims == request.out().dims) input->dims = product.y;
  }
  flat.outputs[0]->dims = product.y;
  return flat;
}

bool prepend_gemm(Fused& fused) {
  const float alpha = ops::real_attribute(*fused.anchor, "alpha"),
              beta = ops::real_attribute(*fused.anchor, "beta");
  std::vector<PostOp> first;
  if (alpha != 1) first.push_back({PostOp::Kind::kLinear, alpha, 0});
  if (fused.inputs.size() > 2 && fused.inputs[2] >= 0) {
    if (beta != 1) return false;
    first.push_back({PostOp::Kind::kAdd, 0, 0, fused.inputs[2]});
  }
  fused.post_ops.insert(fused.post_ops.begin(), first.begin(), first.end());
  return true;
}

namespace {

// Gemm's C with a row for all, or what is added first, if it is constant: the bias of the product.
int take_bias(Fused& fused, const KernelRequest& request, int64_t columns) {
  const auto is_row = [&](int index) {
    const Operand& operand = request.in(static_cast<size_t>(index));
    return operand.constant != nullptr && operand.size() == columns && operand.rank() >= 1 &&
           operand.dims.back() == columns;
  };
  if (fused.post_ops.empty() || fused.post_ops[0].kind != PostOp::Kind::kAdd ||
      fused.post_ops[0].operand < 0 || !is_row(fused.post_ops[0].operand))
    return -1;
  const int bias = fused.post_ops[0].operand;
  fused.post_ops.erase(fused.post_ops.begin());
  return bias;
}

// Floats, and bfloat16 to either.
bool can_multiply(const Operand& a, const Operand& b, const Operand& y) {
  const bool floats = a.element == ElementType::kFloat || a.element == ElementType::kBFloat16;
  return floats && b.element == a.element && (y.element == a.element || y.element == ElementType::kFloat) &&
         y.size() > 0 && a.size() > 0 && a.rank() <= 6;
}

// Left to itself, oneDNN wants the weights of other numbers of rows in other layouts, so that an engine of
// many sizes would hold them many times. They lie as so many rows want them, which is what kernels on blocks
// take from any.
constexpr int64_t kTypicalRows = 64;

template <class Describe>
dnnl::matmul::primitive_desc describe_packed(const Describe& describe, dnnl::memory::data_type type,
                                             const Dims& weights, dnnl::memory::data_type result,
                                             int threads) {
  auto chosen = describe(any(type, weights));
  const auto in_blocks = [](const dnnl::matmul::primitive_desc& description) {
    return std::string_view(description.impl_info_str()).starts_with("brg");
  };
  if (!in_blocks(chosen)) return chosen;
  const ThreadLimit scope(threads);
  const auto typical = describe_matmul(plain(type, {kTypicalRows, weights[0]}), any(type, weights),
                                       std::nullopt, plain(result, {kTypicalRows, weights[1]}), {});
  if (!in_blocks(typical) || typical.weights_desc() == chosen.weights_desc()) return chosen;
  auto shared = describe(typical.weights_desc());
  return in_blocks(shared) ? shared : chosen;
}

// How a product is computed; post-ops aside.
struct ProductPlan {
  const KernelRequest &request, &flat;
  const Product& product;
  int bias;
};

std::unique_ptr<DnnlKernel> make_fused(const ProductPlan& plan, const Fused& fused, std::string& reason) {
  const auto& [request, flat, product, bias] = plan;
  const auto &a = request.in(static_cast<size_t>(fused.inputs[0])),
             &b = request.in(static_cast<size_t>(fused.inputs[1])), &y = request.out();
  const auto type = dnnl_type(a.element);
  auto epilogue = make_epilogue(fused, flat, reason);
  if (!epilogue) return nullptr;
  std::optional<dnnl::memory::desc> bias_md;
  Dims bias_dims(product.y.size(), 1);
  bias_dims.back() = product.y.back();
  if (bias >= 0) bias_md = plain(*dnnl_type(request.in(static_cast<size_t>(bias)).element), bias_dims);
  const auto a_md = matrix(*type, product.a, product.transpose_a),
             b_md = matrix(*type, product.b, product.transpose_b),
             y_md = plain(*dnnl_type(y.element), product.y);
  Dims packed_dims = product.b;
  if (product.transpose_b) std::swap(packed_dims[0], packed_dims[1]);
  const double depth = static_cast<double>(product.a[product.a.size() - (product.transpose_a ? 2 : 1)]);
  const int threads =
      threads_for(2 * static_cast<double>(y.size()) * depth,
                  static_cast<double>(b.size()) * static_cast<double>(element_size(b.element)));
  const int all_threads = thread_count();
  const ThreadLimit scope(threads);
  const bool packed = b.constant != nullptr && product.b.size() == 2;
  const auto described = [&](const dnnl::memory::desc& weights) {
    return describe_matmul(a_md, weights, bias_md, y_md, epilogue->attributes);
  };
  const auto pd = packed ? describe_packed(described, *type, packed_dims, *dnnl_type(y.element), all_threads)
                         : described(b_md);
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, a_md, fused.inputs[0], -1, std::nullopt},
                                     {DNNL_ARG_DST, y_md, -1, 0, std::nullopt}};
  arguments.push_back(packed ? weights_argument(request, fused.inputs[1], b_md, pd.weights_desc())
                             : Argument{DNNL_ARG_WEIGHTS, b_md, fused.inputs[1], -1, std::nullopt});
  if (bias_md) arguments.push_back({DNNL_ARG_BIAS, *bias_md, bias, -1, std::nullopt});
  arguments.insert(arguments.end(), epilogue->arguments.begin(), epilogue->arguments.end());
  auto kernel = std::make_unique<DnnlKernel>(pd, pd.scratchpad_desc(), std::move(arguments));
  kernel->name = dnnl_name(pd.impl_info_str());
  kernel->contract = {ElementType::kFloat, ElementType::kFloat, y.element, NumericsContract::Order::kBlocked};
  kernel->in_place = kernel->accumulate_into = epilogue->sum_input;
  kernel->threads = threads == 1 ? 1 : 0;
  kernel->accumulate_bytes = y_md.get_size();
  return kernel;
}

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request, std::string& reason) {
  auto fused = parse_fused(request, reason);
  if (!fused) return nullptr;
  const Operand &a = request.in(static_cast<size_t>(fused->inputs[0])),
                &b = request.in(static_cast<size_t>(fused->inputs[1])), &y = request.out();
  if (!can_multiply(a, b, y)) {
    reason =
        fmt::format("no product of {} {} in oneDNN", element_type_short_name(a.element), dims_text(a.dims));
    return nullptr;
  }
  const Product product = product_of(*fused->anchor, a, b, y);
  if (!request.tactic.empty()) {
    reason = fmt::format("the tactic '{}' does not apply", request.tactic);
    return nullptr;
  }
  const auto flat = flattened(request, product);
  if (fused->anchor->op == "Gemm" && !prepend_gemm(*fused)) {
    reason = "Gemm with a beta other than 1";
    return nullptr;
  }
  const ProductPlan plan{request, flat, product, take_bias(*fused, flat, product.y.back())};
  return with_exact_post_ops(
      *fused, flat, product.y.size() - 1,
      [&](const Fused& part, std::string& why) { return make_fused(plan, part, why); }, reason);
}

}  // namespace

void register_matmul(KernelRegistry& registry) {
  for (const char* op : {"MatMul", "Gemm"})
    registry.add({"", op, LayoutRule::kPlain, Priority::kLibrary, unless_refused<make_matmul>});
  registry.add(
      {"vernier", "Group/matmul", LayoutRule::kPlain, Priority::kLibrary, unless_refused<make_matmul>});
}

}  // namespace vernier::cpu
