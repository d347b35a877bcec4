// The kernels of the CUDA backend by operator. Each file of a family's folder registers its own; the build
// generates the list of calls from the file names (CMakeLists.txt).
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"

namespace vernier::cuda {

// Makes a kernel, or nothing with `reason` set. Neither a GPU nor a compiler is asked.
using MakeCudaKernel = std::unique_ptr<CudaKernel> (*)(const KernelRequest& request, std::string& reason);

// Sets the layouts in which a kernel takes its operands, given those that they come in.
using LayOut = void (*)(KernelRequest& request);
void lay_out_plain(KernelRequest& request);
// The first input, where it is an image channels last, and the first output lie so; all else is plain.
void lay_out_image(KernelRequest& request);

// Lets operands lie in caches that are among the inputs `caches`, as KernelMaker::lay_out_caches of the CPU
// does.
using LayOutCaches = void (*)(KernelRequest& request, std::span<const size_t> caches);

class KernelRegistry {
 public:
  static const KernelRegistry& instance();
  // Throws internal_error if the operator has a maker already.
  void add(const std::string& domain, const std::string& op, MakeCudaKernel make,
           LayOut lay_out = lay_out_plain, LayOutCaches lay_out_caches = nullptr);
  // Null for operators without a kernel.
  MakeCudaKernel find(const Node& node) const;
  // Another than lay_out_plain for operators whose kernels take images channels last, too.
  LayOut lay_out(const Node& node) const;
  // Null where its kernels read no caches.
  LayOutCaches lay_out_caches(const Node& node) const;
  std::vector<std::pair<std::string, std::string>> operators() const;

 private:
  struct Maker {
    MakeCudaKernel make;
    LayOut lay_out;
    LayOutCaches lay_out_caches;
  };
  const Maker* maker(const Node& node) const;

  std::map<std::pair<std::string, std::string>, Maker> makers_;
};

// Defined in a file that the build generates.
void register_all(KernelRegistry& registry);

class CublasLt;
class Cudnn;

// Libraries that are null are not asked; without any, neither is a GPU.
struct KernelLibraries {
  CublasLt* cublaslt = nullptr;
  Cudnn* cudnn = nullptr;
};

// The kernel of a node whose operands are of known sizes, and plain, but for images that lie channels last
// where a convolution of cuDNN reads them, or KernelRegistry::lay_out has them so; nothing, with `reason`,
// where there is none. Products and convolutions that a library serves are its.
std::unique_ptr<CudaKernel> make_cuda_kernel(const KernelRequest& request, std::string& reason,
                                             const KernelLibraries& libraries = {});
// The same without libraries, and without what is faster for some sizes.
std::unique_ptr<CudaKernel> make_own_kernel(const KernelRequest& request, std::string& reason);
// The ways of the libraries to compute it, for the tactic of a request.
std::vector<std::string> cuda_tactics(const KernelRequest& request, const KernelLibraries& libraries);

}  // namespace vernier::cuda
