// Kernels of another source, some of them replaced.
#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier {

class KernelSourceAround : public KernelSource {
 public:
  std::vector<std::string> tactics(const KernelRequest& request) const override {
    return kernels_.tactics(request);
  }
  bool holds(const std::string& form) const override { return kernels_.holds(form); }
  std::optional<Tensor> unpack(const std::string& form, std::span<const std::byte> packed,
                               ElementType element, const Dims& dims) const override {
    return kernels_.unpack(form, packed, element, dims);
  }
  void choose_layouts(KernelRequest& request) const override { kernels_.choose_layouts(request); }
  void read(std::span<const std::byte> memory) const override { kernels_.read(memory); }
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    return kernels_.reorder(from, to);
  }

 protected:
  explicit KernelSourceAround(const KernelSource& kernels) : kernels_(kernels) {}  // outlives this

  const KernelSource& kernels_;
};

}  // namespace vernier
