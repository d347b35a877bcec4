// A host without kernels: what an accelerator lacks runs by the reference.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

class NoKernels : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest&, std::string& reason) const override {
    reason = "the host has no kernels here";
    return nullptr;
  }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
};

}  // namespace vernier
