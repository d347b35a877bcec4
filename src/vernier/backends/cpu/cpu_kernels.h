// The CPU backend: kernels of oneDNN, and own ones where a library cannot fuse or has nothing.
#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

struct CpuOptions {
  // How convolutions and what lies between them keep images.
  Layout image_layout = Layout::kChannelsLast;
};

// Whether this machine has instructions for products of bfloat16.
bool computes_bf16();

class CpuKernels : public KernelSource {
 public:
  explicit CpuKernels(CpuOptions options = {}) : options_(options) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  void choose_layouts(KernelRequest& request) const override;
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;

 private:
  CpuOptions options_;
};

}  // namespace vernier::cpu
