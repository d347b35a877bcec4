#include "vernier/backends/cuda/kernel_registry.h"

#include "vernier/backends/cuda/cublaslt/matmul.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

const KernelRegistry& KernelRegistry::instance() {
  static const KernelRegistry registry = [] {
    KernelRegistry all;
    register_all(all);
    return all;
  }();
  return registry;
}

void KernelRegistry::add(const std::string& domain, const std::string& op, MakeCudaKernel make) {
  if (!makers_.emplace(std::pair(domain, op), make).second)
    throw internal_error("two makers of CUDA kernels for {}", op);
}

MakeCudaKernel KernelRegistry::find(const Node& node) const {
  const std::string op = ops::is_group(node) ? "Group/" + ops::group_kind(node) : node.op;
  const auto found = makers_.find({node.domain, op});
  return found == makers_.end() ? nullptr : found->second;
}

std::vector<std::pair<std::string, std::string>> KernelRegistry::operators() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [op, make] : makers_) all.push_back(op);
  return all;
}

namespace {

bool is_plain(const std::optional<Operand>& operand) {
  return !operand ||
         (operand->layout == Layout::kPlain && element_size(operand->element) <= 16 &&
          operand->element != ElementType::kString && operand->element != ElementType::kUndefined);
}

bool has_elements(const std::vector<std::optional<Operand>>& operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const auto& operand) { return operand && operand->size() != 0; });
}

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelRequest& request, std::string& reason,
                                             CublasLt* cublaslt) {
  if (request.open_sizes) {
    reason = "the sizes of its outputs are known only when it has run";
    return nullptr;
  }
  if (!request.tactic.empty()) {
    reason = fmt::format("there is no tactic '{}'", request.tactic);
    return nullptr;
  }
  if (!std::all_of(request.inputs.begin(), request.inputs.end(), is_plain) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), is_plain)) {
    reason = "its operands are strings, or no plain tensors";
    return nullptr;
  }
  const MakeCudaKernel make = KernelRegistry::instance().find(request.node);
  if (make == nullptr) {
    reason = "the CUDA backend has no kernel for it";
    return nullptr;
  }
  if (!has_elements(request.outputs)) return std::make_unique<CudaKernel>(request, "empty");
  try {
    if (cublaslt != nullptr) {
      std::string refusal;  // the generated kernel serves then
      if (auto kernel = make_library_product(request, *cublaslt, refusal)) return kernel;
    }
    return make(request, reason);
  } catch (Error& error) {
    throw error.at_node(request.node.name);
  }
}

}  // namespace vernier::cuda
