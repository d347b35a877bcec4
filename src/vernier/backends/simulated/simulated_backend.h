// Kernels for the simulated device: the reference semantics of each operator.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/backends/shared/faults/fault_injector.h"
#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/exec/backend.h"

namespace vernier::simulated {

// Has a kernel for every node on tensors of known sizes, unless it is a group, has regions, draws
// random numbers, or its operator is one that the device lacks. Outlives what is made on its device.
class SimulatedBackend : public FaultableBackend {
 public:
  explicit SimulatedBackend(SimulatedOptions options = {}, const std::optional<FaultSpec>& fault = {});

  SimulatedDevice& device() const override { return *device_; }
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  void take(const Payloads& made) const override;
  std::vector<std::string> tactics(const KernelRequest& request) const override;
  void choose_layouts(KernelRequest& request) const override;
  // Its layouts are plain ones and caches: throws an internal error for others.
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;
  // Also throws usage_error if its queues are to have a fault (DeviceFault) and have not come to it.
  std::optional<FaultSpec> applied_fault() const override;

 private:
  std::unique_ptr<Kernel> make_sound(const KernelRequest& request, std::string& reason) const;

  std::unique_ptr<SimulatedDevice> device_;
  std::unique_ptr<FaultInjector> injector_;
};

// The reference semantics of a node as a kernel of the simulated device.

// For a node that evaluate() (ops/evaluate.h) takes, whose operands are tensors of known sizes, plain or in
// caches. What it runs on is a SimulatedStream; anything else is an internal error. It computes `times`
// times; with `wrong`, its first element is not what it should be.
std::unique_ptr<Kernel> make_kernel(const KernelRequest& request, int times = 1, bool wrong = false,
                                    Payloads payloads = {});

// Copies an operand, plain or in a cache, into the other of these; into a cache of its capacity.
std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to);

}  // namespace vernier::simulated
