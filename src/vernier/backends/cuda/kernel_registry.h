// The kernels of the CUDA backend by operator. Each file of a family's folder registers its own; the build
// generates the list of calls from the file names (CMakeLists.txt).
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// Makes a kernel, or nothing with `reason` set. Neither a GPU nor a compiler is asked.
using MakeCudaKernel = std::unique_ptr<CudaKernel> (*)(const KernelRequest& request, std::string& reason);

class KernelRegistry {
 public:
  static const KernelRegistry& instance();
  // Throws internal_error if the operator has a maker already.
  void add(const std::string& domain, const std::string& op, MakeCudaKernel make);
  // Null for operators without a kernel.
  MakeCudaKernel find(const Node& node) const;
  std::vector<std::pair<std::string, std::string>> operators() const;

 private:
  std::map<std::pair<std::string, std::string>, MakeCudaKernel> makers_;
};

// Defined in a file that the build generates.
void register_all(KernelRegistry& registry);

class CublasLt;

// The kernel of a node whose operands are plain tensors of known sizes; nothing, with `reason`, where there
// is none. Products that cuBLASLt serves are its; null: it is not asked, and neither is a GPU.
std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelRequest& request, std::string& reason,
                                             CublasLt* cublaslt = nullptr);

}  // namespace vernier::cuda
