// The CPU backend: kernels of oneDNN, and own ones where a library cannot fuse or has nothing.
#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

// Whether this machine has instructions for products of bfloat16.
bool computes_bf16();

class CpuKernels : public KernelSource {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  std::vector<std::string> tactics(const KernelRequest& request) const override;
  void choose_layouts(KernelRequest& request) const override;
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;
  std::optional<Tensor> unpack(const std::string& form, std::span<const std::byte> packed,
                               ElementType element, const Dims& dims) const override;
};

// Whether products of bytes are summed exactly. Without VNNI pairs of them are added in 16 bits, which
// saturate.
bool sums_bytes_exactly();

}  // namespace vernier::cpu
