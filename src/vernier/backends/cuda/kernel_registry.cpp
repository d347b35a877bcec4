#include "vernier/backends/cuda/kernel_registry.h"

#include "vernier/backends/cuda/contractions/depthwise.h"
#include "vernier/backends/cuda/cublaslt/matmul.h"
#include "vernier/backends/cuda/cudnn/convolution.h"
#include "vernier/backends/cuda/quantization/int8_contraction.h"
#include "vernier/backends/cuda/recurrent/recurrent.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

void lay_out_plain(KernelRequest& request) {
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
}

void lay_out_image(KernelRequest& request) {
  const Operand& image = request.in(0);
  const bool last = image.layout == Layout::kChannelsLast && image.rank() >= 3;
  lay_out_plain(request);
  if (last) request.inputs[0]->layout = request.outputs[0]->layout = Layout::kChannelsLast;
}

const KernelRegistry& KernelRegistry::instance() {
  static const KernelRegistry registry = [] {
    KernelRegistry all;
    register_all(all);
    return all;
  }();
  return registry;
}

void KernelRegistry::add(const std::string& domain, const std::string& op, MakeCudaKernel make,
                         LayOut lay_out, LayOutCaches lay_out_caches) {
  if (!makers_.emplace(std::pair(domain, op), Maker{make, lay_out, lay_out_caches}).second)
    throw internal_error("two makers of CUDA kernels for {}", op);
}

const KernelRegistry::Maker* KernelRegistry::maker(const Node& node) const {
  const std::string op = ops::is_group(node) ? "Group/" + ops::group_kind(node) : node.op;
  const auto found = makers_.find({node.domain, op});
  return found == makers_.end() ? nullptr : &found->second;
}

MakeCudaKernel KernelRegistry::find(const Node& node) const {
  const Maker* found = maker(node);
  return found == nullptr ? nullptr : found->make;
}

LayOut KernelRegistry::lay_out(const Node& node) const {
  const Maker* found = maker(node);
  return found == nullptr ? lay_out_plain : found->lay_out;
}

LayOutCaches KernelRegistry::lay_out_caches(const Node& node) const {
  const Maker* found = maker(node);
  return found == nullptr ? nullptr : found->lay_out_caches;
}

std::vector<std::pair<std::string, std::string>> KernelRegistry::operators() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [op, make] : makers_) all.push_back(op);
  return all;
}

namespace {

bool is_known(const std::optional<Operand>& operand) {
  return !operand || (element_size(operand->element) <= 16 && operand->element != ElementType::kString &&
                      operand->element != ElementType::kUndefined);
}

bool is_plain(const std::optional<Operand>& operand) {
  return !operand || operand->layout == Layout::kPlain;
}

bool is_plain_or_cache(const std::optional<Operand>& operand) {
  return is_plain(operand) || operand->layout == Layout::kCache;
}

bool all_of(const KernelRequest& request, bool (*holds)(const std::optional<Operand>&)) {
  return std::all_of(request.inputs.begin(), request.inputs.end(), holds) &&
         std::all_of(request.outputs.begin(), request.outputs.end(), holds);
}

bool has_elements(const std::vector<std::optional<Operand>>& operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const auto& operand) { return operand && operand->size() != 0; });
}

}  // namespace

namespace {

// Floats as they lie have no matrix units, so products of single pixels are better off with cuBLASLt.
std::unique_ptr<CudaKernel> make_library_kernel(const KernelRequest& request,
                                                const KernelLibraries& libraries) {
  std::string refusal;  // a kernel of our own serves then
  if (libraries.cublaslt != nullptr) {
    if (auto kernel = make_library_recurrent(request, *libraries.cublaslt, refusal)) return kernel;
  }
  if (!request.wants(0)) return nullptr;  // the others have one result
  if (libraries.cublaslt != nullptr) {
    if (auto kernel = make_library_int8_contraction(request, *libraries.cublaslt, refusal)) return kernel;
  }
  const auto product = [&] {
    return libraries.cublaslt == nullptr ? nullptr
                                         : make_library_product(request, *libraries.cublaslt, refusal);
  };
  const bool product_first = request.out().element == ElementType::kFloat;
  if (product_first) {
    if (auto kernel = product()) return kernel;
  }
  if (auto kernel = make_depthwise(request, refusal)) return kernel;
  if (libraries.cudnn != nullptr) {
    if (auto kernel = make_library_convolution(request, *libraries.cudnn, refusal)) return kernel;
  }
  return product_first ? nullptr : product();
}

// By the library that the tactic is of.
std::unique_ptr<CudaKernel> make_tactic(const KernelRequest& request, std::string& reason,
                                        const KernelLibraries& libraries) {
  if (request.tactic.starts_with("cublaslt:") && libraries.cublaslt != nullptr) {
    if (auto kernel = make_library_int8_contraction(request, *libraries.cublaslt, reason)) return kernel;
    return make_library_product(request, *libraries.cublaslt, reason);
  }
  if (request.tactic.starts_with("cudnn:") && libraries.cudnn != nullptr)
    return make_library_convolution(request, *libraries.cudnn, reason);
  reason = fmt::format("there is no tactic '{}'", request.tactic);
  return nullptr;
}

}  // namespace

std::unique_ptr<CudaKernel> make_own_kernel(const KernelRequest& request, std::string& reason) {
  const KernelRegistry& registry = KernelRegistry::instance();
  const MakeCudaKernel make = registry.find(request.node);
  if (make == nullptr) {
    reason = "the CUDA backend has no kernel for it";
    return nullptr;
  }
  const auto is_served = registry.lay_out_caches(request.node) == nullptr ? is_plain : is_plain_or_cache;
  if (registry.lay_out(request.node) == lay_out_plain && !all_of(request, is_served)) {
    reason = "its operands are no plain tensors";
    return nullptr;
  }
  return make(request, reason);
}

std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelRequest& request, std::string& reason,
                                             const KernelLibraries& libraries) {
  if (request.open_sizes) {
    reason = "the sizes of its outputs are known only when it has run";
    return nullptr;
  }
  if (!request.tactic.empty()) return make_tactic(request, reason, libraries);
  if (!all_of(request, is_known)) {
    reason = "its operands are strings";
    return nullptr;
  }
  const bool is_empty = !has_elements(request.outputs) && all_of(request, is_plain);
  if (is_empty && KernelRegistry::instance().find(request.node) != nullptr)
    return std::make_unique<CudaKernel>(request, "empty");
  try {
    auto kernel = make_library_kernel(request, libraries);
    return kernel ? std::move(kernel) : make_own_kernel(request, reason);
  } catch (Error& error) {
    throw error.at_node(request.node.name);
  }
}

std::vector<std::string> cuda_tactics(const KernelRequest& request, const KernelLibraries& libraries) {
  if (request.open_sizes || !request.wants(0) || !all_of(request, is_known) || !has_elements(request.outputs))
    return {};
  std::vector<std::string> names;
  if (libraries.cublaslt != nullptr) {
    names = library_int8_tactics(request, *libraries.cublaslt);
    if (names.empty()) names = library_product_tactics(request, *libraries.cublaslt);
  }
  if (libraries.cudnn != nullptr) {
    const auto more = library_convolution_tactics(request, *libraries.cudnn);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace vernier::cuda
