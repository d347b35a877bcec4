// MatMul and Gemm: strict, without the units for matrices.
#include "vernier/backends/cuda/contractions/product.h"

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/gemm_layout.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

using Kernels = std::unique_ptr<CudaKernel>;
using P = ProductParameters;

// In which sums are kept: integers modulo 2^64.
ElementType sum_type(ElementType type) {
  if (type == ElementType::kDouble) return type;
  return is_float(type) ? ElementType::kFloat : ElementType::kUint64;
}

bool is_served(const KernelRequest& request, std::string& reason) {
  const ElementType type = request.in(0).element;
  const bool one_type = request.in(1).element == type && request.out().element == type;
  const bool empty = request.in(0).size() == 0 || request.in(1).size() == 0;
  if (one_type && !device_type(type).empty() && type != ElementType::kBool && !empty) return true;
  reason = empty ? "an input has no elements: what that gives is left to the reference"
                 : fmt::format("no product of {}", element_type_short_name(type));
  return false;
}

Kernels launch(const KernelRequest& request, const Product& product, std::string& reason) {
  const ElementType type = request.in(0).element, sums = sum_type(type);
  auto kernel = std::make_unique<CudaKernel>(request, "product");
  if (is_float(type)) {
    kernel->contract = {
        .computed = sums, .accumulated = sums, .stored = type, .order = NumericsContract::Order::kSequential};
  }
  if (!add_product(*kernel, product, {type, type, sums, type}, CudaKernel::input(0), CudaKernel::input(1),
                   CudaKernel::output(), reason))
    return nullptr;
  if (product.epilogue && request.has(2)) kernel->add_pointer(offsetof(P, bias), CudaKernel::input(2));
  return kernel;
}

std::optional<Product> gemm_of(const KernelRequest& request, std::string& reason) {
  const Node& node = request.node;
  const ops::GemmLayout layout(node);
  const Dims &a = request.in(0).dims, &b = request.in(1).dims, &y = request.out().dims;
  Product product;
  P& p = product.parameters;
  p.m = static_cast<int>(y[0]);
  p.n = static_cast<int>(y[1]);
  p.k = static_cast<int>(a[layout.transpose_a ? 0 : 1]);
  p.a_row = layout.transpose_a ? 1 : a[1];
  p.a_column = layout.transpose_a ? a[1] : 1;
  p.b_row = layout.transpose_b ? 1 : b[1];
  p.b_column = layout.transpose_b ? b[1] : 1;
  p.alpha = static_cast<double>(ops::real_attribute(node, "alpha"));
  p.beta = static_cast<double>(ops::real_attribute(node, "beta"));
  product.epilogue = true;
  if (!is_float(request.in(0).element) && (p.alpha != 1 || p.beta != 1)) {
    reason = "integers times a real number";
    return std::nullopt;
  }
  if (request.has(2)) {
    if (request.in(2).element != request.in(0).element || request.in(2).rank() > 2) {
      reason = "an addend of another type";
      return std::nullopt;
    }
    const auto steps = ops::broadcast_strides(request.in(2).dims, y);
    p.bias_row = steps[0];
    p.bias_column = steps[1];
  }
  return product;
}

Kernels make_product(const KernelRequest& request, std::string& reason) {
  const auto product = product_of(request, reason);
  return product ? launch(request, *product, reason) : nullptr;
}

}  // namespace

std::optional<Product> matmul_of(Dims a, Dims b, std::string& reason) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product product;
  P& p = product.parameters;
  p.m = static_cast<int>(a[a.size() - 2]);
  p.k = static_cast<int>(a.back());
  p.n = static_cast<int>(b.back());
  p.a_row = p.k;
  p.b_row = p.n;
  p.a_column = p.b_column = 1;
  Dims a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  // One matrix for all: the rows of a are one matrix.
  if (std::all_of(b_batch.begin(), b_batch.end(), [](int64_t size) { return size == 1; }) &&
      a_batch.size() >= b_batch.size()) {
    p.m = static_cast<int>(element_count(a) / p.k);
    a_batch.clear();
    b_batch.clear();
  }
  const Dims batch = broadcast(a_batch, b_batch);
  if (batch.size() > kMaxRank) {
    reason = "it has too many axes";
    return std::nullopt;
  }
  const auto a_steps = ops::broadcast_strides(a_batch, batch),
             b_steps = ops::broadcast_strides(b_batch, batch);
  for (size_t i = 0; i < batch.size(); ++i) {
    p.batch_sizes[i] = batch[i];
    p.a_batch[i] = a_steps[i] * p.m * p.k;
    p.b_batch[i] = b_steps[i] * p.k * p.n;
  }
  product.batch_rank = batch.size();
  return product;
}

bool add_product(CudaKernel& kernel, const Product& product, const ProductTypes& types,
                 const CudaKernel::Place& a, const CudaKernel::Place& b, const CudaKernel::Place& c,
                 std::string& reason) {
  const P& p = product.parameters;
  int64_t batch = 1;
  for (size_t i = 0; i < product.batch_rank; ++i) batch *= p.batch_sizes[i];
  constexpr int64_t kMostBatches = 65535;
  const int64_t tile = tile_of(p.m, p.n, batch), rows = tiles_of(p.m, tile);
  if (batch > kMostBatches || rows > kMostBatches) {
    reason = "so many matrices, or rows, at a time";
    return false;
  }
  const std::string stored(device_type(types.c));
  const Grid grid{static_cast<unsigned>(tiles_of(p.n, tile)), static_cast<unsigned>(rows),
                  static_cast<unsigned>(batch), 256};
  kernel.launch(kernel_source("product",
                              {{"A", std::string(device_type(types.a))},
                               {"B", std::string(device_type(types.b))},
                               {"C", stored},
                               {"BIAS", stored},
                               {"ACC", std::string(device_type(types.sums))},
                               {"RANK", std::to_string(product.batch_rank)},
                               {"A_BY_ROWS", p.a_column == 1 ? "1" : "0"},
                               {"B_BY_ROWS", p.b_column == 1 ? "1" : "0"},
                               {"TILE", std::to_string(tile)},
                               {"EPILOGUE", product.epilogue ? "1" : "0"}},
                              {"joined"}),
                grid, p, {{&P::a, a}, {&P::b, b}}, {{&P::c, c}});
  return true;
}

std::optional<Product> product_of(const KernelRequest& request, std::string& reason) {
  if (!is_served(request, reason)) return std::nullopt;
  return request.node.op == "Gemm" ? gemm_of(request, reason)
                                   : matmul_of(request.in(0).dims, request.in(1).dims, reason);
}

void register_product(KernelRegistry& registry) {
  registry.add("", "MatMul", make_product);
  registry.add("", "Gemm", make_product);
}

}  // namespace vernier::cuda
