// The kernels of an engine: those of the host and of each device beside it, as its options steer them.
#pragma once

#include "vernier/engine/build_options.h"
#include "vernier/engine/obeying_kernels.h"
#include "vernier/exec/plan.h"
#include "vernier/tune/thread_invariant_kernels.h"

namespace vernier {

class EngineKernels {
 public:
  struct Accelerator {
    std::unique_ptr<FaultableBackend> backend;
    std::unique_ptr<ObeyingKernels> obeying;  // where the precision plan is to be obeyed
    std::string fingerprint;                  // all that times of its kernels depend on
    // Without the fault, to try tactics by; null where there is none.
    std::unique_ptr<FaultableBackend> sound = nullptr;

    const Backend& steered() const { return obeying ? static_cast<const Backend&>(*obeying) : *backend; }
  };

  // All outlive this. `nodes` are those of the ONNX model. A fault goes into the device that comes first.
  EngineKernels(const BuildOptions& options, const PrecisionPlan& precision,
                const std::set<std::string>& nodes);

  // The host's: within the precision plan, if it is to be obeyed.
  const Backend& steered() const { return obeying_ ? static_cast<const Backend&>(*obeying_) : *host_; }
  // The same, and the same bits for any number of threads where the options say deterministic.
  const Backend& kernels() const { return invariant_ ? static_cast<const Backend&>(*invariant_) : steered(); }
  // Makes kernels for each node where the options say deterministic; else null.
  ChooseTactic choice() const;
  const FaultableBackend& host() const { return *host_; }
  const std::vector<Accelerator>& accelerators() const { return accelerators_; }
  // The steered kernels of the devices beside the host, in the order of the options.
  std::vector<const Backend*> steered_accelerators() const;
  // The device that is preferred: passes make what suits it.
  const Driver& driver() const;
  // The fault of the options, and the ONNX node that it is in. Throws usage_error where it is in none, and if
  // a device was to have one in its queues and was not used so often.
  std::optional<FaultSpec> fault() const;

 private:
  const BuildOptions& options_;
  std::vector<Accelerator> accelerators_;
  std::unique_ptr<FaultableBackend> host_;
  std::unique_ptr<ObeyingKernels> obeying_;
  std::unique_ptr<ThreadInvariantKernels> invariant_;
};

}  // namespace vernier
