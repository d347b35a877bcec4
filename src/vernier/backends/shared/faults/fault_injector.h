// Puts one fault into the kernels of a backend.
#pragma once

#include <mutex>

#include "vernier/backends/shared/faults/changed_request.h"
#include "vernier/backends/shared/faults/fault.h"
#include "vernier/backends/shared/make_kernel.h"

namespace vernier {

// A kernel whose sums of products go wrong in this way; nothing, with `reason`, if the backend has none.
using MakeFaultySums =
    std::function<std::unique_ptr<Kernel>(Fault fault, const KernelRequest& request, std::string& reason)>;

class FaultInjector {
 public:
  // `sound` makes kernels without a fault, for `device`, which outlives what is made.
  FaultInjector(FaultSpec spec, Device& device, MakeKernel sound, MakeFaultySums sums)
      : spec_(std::move(spec)), device_(device), sound_(std::move(sound)), sums_(std::move(sums)) {}

  // As Backend::make. Thread-safe.
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const;

  // To be told the tactics that a request has: a fault that stops the process is in what is tried of them,
  // also where a plan never comes to use it, and is then applied.
  void note_tactics(const KernelRequest& request, const std::vector<std::string>& tactics) const;

  // Where the fault is; its node is the one that was found if none was named. Throws usage_error if it has
  // gone nowhere yet: a verdict on it would prove nothing.
  FaultSpec applied() const;

 private:
  std::unique_ptr<Kernel> make_changed(const FaultSpec& spec, const KernelRequest& request,
                                       std::string& reason, bool& applies) const;
  std::unique_ptr<Kernel> make_summing(const FaultSpec& spec, const KernelRequest& request,
                                       std::string& reason, bool& applies) const;
  std::unique_ptr<Kernel> make_spoiled(const FaultSpec& spec, const KernelRequest& request,
                                       std::string& reason, bool& applies) const;
  std::unique_ptr<Kernel> make_sound(std::shared_ptr<ChangedRequest> request, std::string& reason) const;
  std::unique_ptr<Kernel> make_stopping(const KernelRequest& request, std::string& reason) const;
  void note(const std::string& node) const;

  const FaultSpec spec_;
  Device& device_;
  const MakeKernel sound_;
  const MakeFaultySums sums_;
  mutable std::mutex mutex_;
  mutable std::string found_;  // the node that the fault went into
};

}  // namespace vernier
