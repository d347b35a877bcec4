// The CPU backend: kernels of oneDNN, and own ones where a library cannot fuse or has nothing.
#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

struct CpuOptions {
  // How convolutions and what lies between them keep images.
  Layout image_layout = Layout::kChannelsLast;
};

class CpuKernels : public KernelSource {
 public:
  explicit CpuKernels(CpuOptions options = {}) : options_(options) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  void choose_layouts(KernelRequest& request) const override;
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;

 private:
  CpuOptions options_;
};

// Whether products of bytes are summed exactly. Without VNNI pairs of them are added in 16 bits, which
// saturate.
bool sums_bytes_exactly();

}  // namespace vernier::cpu
