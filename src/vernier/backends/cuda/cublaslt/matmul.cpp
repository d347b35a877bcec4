#include "vernier/backends/cuda/cublaslt/matmul.h"

#include "vernier/backends/cuda/cublaslt/lt_product.h"
#include "vernier/backends/cuda/movement/strided_copy.h"

namespace vernier::cuda {

namespace {

// What the library needs of addresses: of operands as all kernels do, of working memory by its manual.
constexpr uint32_t kOperandAlignment = 16;
constexpr size_t kWorkspaceAlignment = 256, kMostWorkspace = size_t{32} << 20;

template <class Handle>
using Held = std::unique_ptr<std::remove_pointer_t<Handle>, Pointer<LtStatus(Handle)>>;

int data_type(ElementType type) {
  if (type == ElementType::kFloat) return kLtFloat;
  return type == ElementType::kFloat16 ? kLtFloat16 : kLtBFloat16;
}

class LtMatmul : public CudaKernel {
 public:
  LtMatmul(const KernelRequest& request, const LtProduct& asked, CublasLt& library, LtHandle handle);

  // Adds the copy of the addend, and takes the library's first way, or that of the name. False, with
  // `reason`, where there is none.
  bool choose(std::string_view tactic, std::string& reason);
  // The names of the ways that keep to the contract, the library's first choice first.
  std::vector<std::string> tactics();

  void run(const KernelArguments& arguments) const override;
  bool reads(size_t input) const override { return input < 2 || asked_.addend != Addend::kNone; }

 private:
  Held<LtOperation> make_operation() const;
  Held<LtLayout> make_layout(const LtMatrix& matrix) const;
  Held<LtPreference> make_preference() const;
  bool spread(std::string& reason);
  bool keeps_to_contract(const LtFound& found) const;
  std::string tactic_of(const LtFound& found) const;
  std::vector<LtFound> ways(std::string& reason);
  void set_bias(const void* address) const;
  void multiply(const KernelArguments& arguments, StreamHandle stream) const;

  const LtProduct asked_;
  CublasLt& library_;
  const CublasLtApi& api_;
  LtHandle handle_;
  Held<LtOperation> operation_;
  Held<LtLayout> left_, right_, result_;
  LtAlgorithm algorithm_{};
  size_t workspace_ = 0;
  mutable std::mutex bias_mutex_;  // the operation holds the address of the addend
};

LtMatmul::LtMatmul(const KernelRequest& request, const LtProduct& asked, CublasLt& library, LtHandle handle)
    : CudaKernel(request, "product"),
      asked_(asked),
      library_(library),
      api_(library.api()),
      handle_(handle),
      operation_(make_operation()),
      left_(make_layout(asked.left)),
      right_(make_layout(asked.right)),
      result_(make_layout(asked.result)) {
  name = "cublaslt:product";
  contract = blocked_contract(ElementType::kFloat, asked.element);
}

Held<LtOperation> LtMatmul::make_operation() const {
  LtOperation made = nullptr;
  library_.check(api_.create_operation(&made, kLtCompute32F, kLtFloat), "a product");
  Held<LtOperation> operation(made, api_.destroy_operation);
  const auto set = [&](int attribute, const auto& value) {
    library_.check(api_.set_operation(made, attribute, &value, sizeof(value)), "a product");
  };
  set(kLtTransposeA, asked_.transpose_left ? kLtTransposed : kLtPlain);
  set(kLtTransposeB, asked_.transpose_right ? kLtTransposed : kLtPlain);
  set(kLtEpilogue, asked_.addend == Addend::kEpilogue ? kLtAddBias : kLtNoEpilogue);
  return operation;
}

Held<LtLayout> LtMatmul::make_layout(const LtMatrix& matrix) const {
  LtLayout made = nullptr;
  library_.check(api_.create_layout(&made, data_type(asked_.element), static_cast<uint64_t>(matrix.rows),
                                    static_cast<uint64_t>(matrix.columns), matrix.leading),
                 "a matrix");
  Held<LtLayout> layout(made, api_.destroy_layout);
  if (asked_.batch == 1) return layout;
  const auto count = static_cast<int32_t>(asked_.batch);
  library_.check(api_.set_layout(made, kLtBatchCount, &count, sizeof(count)), "a batch");
  library_.check(api_.set_layout(made, kLtBatchStep, &matrix.step, sizeof(matrix.step)), "a batch");
  return layout;
}

Held<LtPreference> LtMatmul::make_preference() const {
  LtPreference made = nullptr;
  library_.check(api_.create_preference(&made), "a preference");
  Held<LtPreference> preference(made, api_.destroy_preference);
  const auto set = [&](int attribute, const auto& value) {
    library_.check(api_.set_preference(made, attribute, &value, sizeof(value)), "a preference");
  };
  set(kLtMostWorkspace, kMostWorkspace);
  set(kLtReductionSchemes, kLtInComputeType);
  for (const int attribute : kLtAlignments) set(attribute, kOperandAlignment);
  return preference;
}

// Partial sums are kept in float and added in a fixed order, or there are none; factors of floats are floats.
bool LtMatmul::keeps_to_contract(const LtFound& found) const {
  size_t written = 0;
  uint32_t scheme = 0;
  uint64_t flags = 0;
  if (found.state != kLtSuccess || found.workspace > kMostWorkspace ||
      api_.configuration(&found.algorithm, kLtReductionScheme, &scheme, sizeof(scheme), &written) !=
          kLtSuccess ||
      api_.capability(&found.algorithm, kLtNumericalFlags, &flags, sizeof(flags), &written) != kLtSuccess)
    return false;
  const uint64_t instructions = flags & kLtByte, accumulators = flags >> 8 & kLtByte,
                 factors = flags >> 16 & kLtByte;
  const bool strict =
      asked_.element != ElementType::kFloat || (instructions == kLtFma && factors == kLtFactors32F);
  return strict && accumulators == kLtAccumulators32F &&
         (scheme == kLtOneSequence || scheme == kLtInComputeType);
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

// The engine and its knobs, which say the same way whatever order the library names its ways in.
std::string LtMatmul::tactic_of(const LtFound& found) const {
  constexpr std::pair<std::string_view, int> kKnobs[] = {
      {"algorithm", kLtAlgorithmId}, {"tile", kLtTile},
      {"stages", kLtStages},         {"split", kLtSplitK},
      {"swizzle", kLtSwizzle},       {"custom", kLtCustom},
      {"inner", kLtInnerShape},      {"cluster", kLtClusterShape},
      {"scheme", kLtReductionScheme}};
  std::string name = "cublaslt:";
  for (const auto& [knob, attribute] : kKnobs) {
    const size_t bytes =
        attribute == kLtInnerShape || attribute == kLtClusterShape ? sizeof(uint16_t) : sizeof(uint32_t);
    uint32_t value = 0;
    size_t written = 0;
    // Libraries before 12 do not know the last ones.
    if (api_.configuration(&found.algorithm, attribute, &value, bytes, &written) != kLtSuccess || value == 0)
      continue;
    name += fmt::format("{}{}{}", name.back() == ':' ? "" : ",", knob, value);
  }
  return name;
}

// Those that keep to the contract. Empty, with `reason`, where there is none.
std::vector<LtFound> LtMatmul::ways(std::string& reason) {
  constexpr int kMostWays = 16;
  if (asked_.addend == Addend::kEpilogue)
    set_bias(reinterpret_cast<const void*>(uintptr_t{kOperandAlignment}));  // as aligned as it will be
  library_.context().use();
  std::array<LtFound, kMostWays> found{};
  int count = 0;
  const auto preference = make_preference();
  const LtStatus status = api_.find(handle_, operation_.get(), left_.get(), right_.get(), result_.get(),
                                    result_.get(), preference.get(), kMostWays, found.data(), &count);
  std::vector<LtFound> sound;
  std::copy_if(found.begin(), found.begin() + (status == kLtSuccess ? count : 0), std::back_inserter(sound),
               [&](const LtFound& way) { return keeps_to_contract(way); });
  if (sound.empty())
    reason = status == kLtSuccess
                 ? fmt::format("of {} ways of cuBLASLt none keeps to strict sums in float", count)
                 : fmt::format("cuBLASLt has no way to compute it: {}", api_.status_name(status));
  return sound;
}

std::vector<std::string> LtMatmul::tactics() {
  std::string reason;
  std::vector<std::string> names;
  for (const LtFound& way : ways(reason)) names.push_back(tactic_of(way));
  return names;
}

bool LtMatmul::choose(std::string_view tactic, std::string& reason) {
  if (asked_.addend == Addend::kSpread && !spread(reason)) return false;
  const auto known = ways(reason);
  const auto found = std::find_if(known.begin(), known.end(), [&](const LtFound& way) {
    return tactic.empty() || tactic_of(way) == tactic;
  });
  if (found == known.end()) {
    if (!known.empty()) reason = fmt::format("cuBLASLt names no way '{}' here", tactic);
    return false;
  }
  algorithm_ = found->algorithm;
  workspace_ = found->workspace;
  if (workspace_ > 0) scratch_bytes = workspace_ + kWorkspaceAlignment;
  return true;
}

void LtMatmul::set_bias(const void* address) const {
  library_.check(api_.set_operation(operation_.get(), kLtBiasPointer, &address, sizeof(address)),
                 "an addend");
}

void LtMatmul::multiply(const KernelArguments& arguments, StreamHandle stream) const {
  std::unique_lock lock(bias_mutex_, std::defer_lock);
  if (asked_.addend == Addend::kEpilogue) {
    lock.lock();
    set_bias(arguments.inputs[2]);
  }
  void* result = arguments.outputs[0];
  const bool adds = asked_.addend == Addend::kMatrix || asked_.addend == Addend::kSpread;
  const void* addend = asked_.addend == Addend::kMatrix ? arguments.inputs[2] : result;
  const float alpha = asked_.alpha, beta = adds ? asked_.beta : 0;
  void* workspace = nullptr;
  if (workspace_ > 0) {
    const auto at = reinterpret_cast<uintptr_t>(arguments.scratch);
    workspace = arguments.scratch + (kWorkspaceAlignment - at % kWorkspaceAlignment) % kWorkspaceAlignment;
  }
  library_.check(
      api_.multiply(handle_, operation_.get(), &alpha, arguments.inputs[asked_.left_input], left_.get(),
                    arguments.inputs[asked_.right_input], right_.get(), &beta, addend, result_.get(), result,
                    result_.get(), &algorithm_, workspace, workspace_, stream),
      name);
}

void LtMatmul::run(const KernelArguments& arguments) const {
  CudaKernel::run(arguments);  // the copy of the addend
  auto* stream = dynamic_cast<CudaStream*>(arguments.stream);
  if (stream == nullptr) throw internal_error("'{}' runs on streams of its device only", name);
  stream->enqueue([&](StreamHandle handle) { multiply(arguments, handle); });
}

// Without a way yet. Null, with `reason`, for what cuBLASLt is not asked for.
std::unique_ptr<LtMatmul> product_of(const KernelRequest& request, CublasLt& library, std::string& reason) {
  const std::string& op = request.node.op;
  if (!request.node.domain.empty() || (op != "MatMul" && op != "Gemm" && op != "Conv")) {
    reason = "cuBLASLt multiplies matrices only";
    return nullptr;
  }
  const auto asked = lt_product(request, reason);
  if (!asked) return nullptr;
  const LtHandle handle = library.handle(reason);
  return handle == nullptr ? nullptr : std::make_unique<LtMatmul>(request, *asked, library, handle);
}

}  // namespace

std::unique_ptr<CudaKernel> make_library_product(const KernelRequest& request, CublasLt& library,
                                                 std::string& reason) {
  auto kernel = product_of(request, library, reason);
  return kernel && kernel->choose(request.tactic, reason) ? std::move(kernel) : nullptr;
}

std::vector<std::string> library_product_tactics(const KernelRequest& request, CublasLt& library) {
  std::string reason;
  const auto kernel = product_of(request, library, reason);
  return kernel ? kernel->tactics() : std::vector<std::string>();
}

}  // namespace vernier::cuda
