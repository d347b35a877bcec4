// Kernels of another source, some of them replaced.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

class BackendDecorator : public Backend {
 public:
  Device& device() const override { return backend_.device(); }
  void take(const Payloads& made) const override { backend_.take(made); }
  std::vector<std::string> tactics(const KernelRequest& request) const override {
    return backend_.tactics(request);
  }
  void choose_layouts(KernelRequest& request) const override { backend_.choose_layouts(request); }
  void read(std::span<const std::byte> memory) const override { backend_.read(memory); }
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    return backend_.reorder(from, to);
  }

 protected:
  explicit BackendDecorator(const Backend& backend) : backend_(backend) {}  // outlives this

  const Backend& backend_;
};

}  // namespace vernier
