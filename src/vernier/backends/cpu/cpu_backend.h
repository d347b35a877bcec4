// The CPU backend: kernels of oneDNN, and own ones where a library cannot fuse or has nothing.
#pragma once

#include "vernier/backends/cpu/processor.h"
#include "vernier/backends/shared/driver.h"
#include "vernier/backends/shared/faults/fault_injector.h"

namespace vernier::cpu {

// Whether this machine has instructions for products of bfloat16.
bool computes_bf16();

class CpuBackend : public FaultableBackend {
 public:
  // `fault`: what is to go wrong on purpose, to see that it is found.
  explicit CpuBackend(const std::optional<FaultSpec>& fault = std::nullopt);

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  std::vector<std::string> tactics(const KernelRequest& request) const override;
  void choose_layouts(KernelRequest& request) const override;
  void read(std::span<const std::byte> memory) const override;
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;

  std::optional<FaultSpec> applied_fault() const override;

 private:
  std::unique_ptr<FaultInjector> injector_;
};

// Whether attention of quantized models, a group "qattention", is computed as one.
bool attends_int8();

}  // namespace vernier::cpu
