#include "vernier/backends/cuda/cublaslt/matmul.h"

#include "vernier/backends/cuda/cublaslt/lt_multiplication.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/ops/group.h"
#include "vernier/ops/tf32.h"

namespace vernier::cuda {

namespace {

class LtMatmul : public CudaKernel {
 public:
  LtMatmul(const KernelRequest& request, const LtProduct& asked, CublasLt& library, LtHandle handle);

  // Adds the copy of the addend, and takes the library's first way, or that of the name. False, with
  // `reason`, where there is none.
  bool choose(std::string_view tactic, std::string& reason);
  // The names of the ways that keep to the contract, the library's first choice first.
  std::vector<std::string> tactics() const;

  void run(const KernelArguments& arguments) const override;
  bool reads(size_t input) const override { return input < 2 || asked_.addend != Addend::kNone; }

 private:
  bool spread(std::string& reason);
  std::vector<LtFound> ways(std::string& reason) const {
    return product_.ways([this](const LtFound& way) { return product_.sums_in_float(way, asked_.element); },
                         reason);
  }
  void multiply(const KernelArguments& arguments, StreamHandle stream) const;

  const LtProduct asked_;
  LtMultiplication product_;
  mutable std::mutex bias_mutex_;  // the operation holds the address of the addend
};

LtMatmul::LtMatmul(const KernelRequest& request, const LtProduct& asked, CublasLt& library, LtHandle handle)
    : CudaKernel(request, "product"),
      asked_(asked),
      product_(asked,
               {asked.tf32 ? kLtCompute32FByTf32 : kLtCompute32F, kLtFloat, lt_type(asked.element),
                lt_type(asked.element)},
               library, handle) {
  name = asked.tf32 ? "cublaslt:tf32" : "cublaslt:product";
  contract = library_contract(asked.element, asked.tf32);
  // Some ways round a sum to 16 bits before they add to it, and nothing tells which.
  contract.rounds_between = ops::is_group(request.node) && asked.element != ElementType::kFloat;
}

bool LtMatmul::spread(std::string& reason) {
  const Product& product = asked_.product;
  const ProductParameters& p = product.parameters;
  CopyBox box{element_size(asked_.element)};
  int64_t step = int64_t{p.m} * p.n;
  box.axes = {{p.m, p.bias_row, p.n}, {p.n, p.bias_column, 1}};
  for (size_t i = product.batch_rank; i-- > 0;) {
    box.axes.insert(box.axes.begin(), {p.batch_sizes[i], p.bias_batch[i], step});
    step *= p.batch_sizes[i];
  }
  return add_copy(*this, box, input(2), output(), reason);
}

std::vector<std::string> LtMatmul::tactics() const {
  std::string reason;
  std::vector<std::string> names;
  for (const LtFound& way : ways(reason)) names.push_back(product_.tactic_of(way));
  return names;
}

bool LtMatmul::choose(std::string_view tactic, std::string& reason) {
  if (asked_.addend == Addend::kSpread && !spread(reason)) return false;
  if (!product_.take(ways(reason), tactic, reason)) return false;
  scratch_bytes = product_.scratch_bytes();
  return true;
}

void LtMatmul::multiply(const KernelArguments& arguments, StreamHandle stream) const {
  std::unique_lock lock(bias_mutex_, std::defer_lock);
  if (asked_.addend == Addend::kEpilogue) {
    lock.lock();
    product_.set_bias(arguments.inputs[asked_.addend_input]);
  }
  void* result = arguments.outputs[0];
  const bool adds = asked_.addend == Addend::kMatrix || asked_.addend == Addend::kSpread;
  const void* addend = asked_.addend == Addend::kMatrix ? arguments.inputs[asked_.addend_input] : result;
  const float alpha = asked_.alpha, beta = adds ? asked_.beta : 0;
  product_.enqueue(&alpha, &beta,
                   {arguments.inputs[asked_.left_input], arguments.inputs[asked_.right_input], addend, result,
                    arguments.scratch},
                   stream, name);
}

void LtMatmul::run(const KernelArguments& arguments) const {
  CudaKernel::run(arguments);  // the copy of the addend
  auto* stream = dynamic_cast<CudaStream*>(arguments.stream);
  if (stream == nullptr) throw internal_error("'{}' runs on streams of its device only", name);
  stream->enqueue([&](StreamHandle handle) { multiply(arguments, handle); });
}

// The node itself, or the first one of a group.
const Node& multiplying(const Node& node) {
  return ops::is_group(node) ? *ops::body(node).nodes().front() : node;
}

// Without a way yet. Null, with `reason`, for what cuBLASLt is not asked for.
std::unique_ptr<LtMatmul> product_of(const KernelRequest& request, bool tf32, CublasLt& library,
                                     std::string& reason) {
  const Node& node = multiplying(request.node);
  if (!node.domain.empty() || (node.op != "MatMul" && node.op != "Gemm" && node.op != "Conv")) {
    reason = "cuBLASLt multiplies matrices only";
    return nullptr;
  }
  auto asked = lt_product(request, reason);
  if (!asked) return nullptr;
  asked->tf32 = tf32;
  const LtHandle handle = library.handle(reason);
  return handle == nullptr ? nullptr : std::make_unique<LtMatmul>(request, *asked, library, handle);
}

// Whether factors are rounded to TF32, in the order in which that is tried.
std::vector<bool> ways_of_factors(const KernelRequest& request) {
  const bool may_round =
      ops::may_round_to_tf32(multiplying(request.node)) && request.out().element == ElementType::kFloat;
  return may_round ? std::vector<bool>{true, false} : std::vector<bool>{false};
}

}  // namespace

std::unique_ptr<CudaKernel> make_library_product(const KernelRequest& request, CublasLt& library,
                                                 std::string& reason) {
  for (const bool tf32 : ways_of_factors(request)) {
    auto kernel = product_of(request, tf32, library, reason);
    if (kernel && kernel->choose(request.tactic, reason)) return kernel;
  }
  return nullptr;
}

std::vector<std::string> library_product_tactics(const KernelRequest& request, CublasLt& library) {
  std::string reason;
  std::vector<std::string> names;
  for (const bool tf32 : ways_of_factors(request)) {
    const auto kernel = product_of(request, tf32, library, reason);
    const auto more = kernel ? kernel->tactics() : std::vector<std::string>();
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace vernier::cuda
