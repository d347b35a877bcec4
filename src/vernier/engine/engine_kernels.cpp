#include "vernier/engine/engine_kernels.h"

#include "vernier/backends/installed/drivers.h"
#include "vernier/base/threads.h"

namespace vernier {

std::string timing_device() {
  return fmt::format("{}; Vernier {}, {}; {} threads", host_driver().instruction_sets(), VERNIER_VERSION,
                     host_driver().library_versions(), thread_count());
}

EngineKernels::EngineKernels(const BuildOptions& options, const PrecisionPlan& precision,
                             const std::set<std::string>& nodes)
    : options_(options),
      host_(host_driver().make(options.accelerators.empty() ? options.fault : std::nullopt)) {
  const auto obeying = [&](const Backend& kernels) -> std::unique_ptr<ObeyingKernels> {
    if (options.precision.constraints != PrecisionConstraints::kObey) return nullptr;
    return std::make_unique<ObeyingKernels>(kernels, precision, nodes);
  };
  obeying_ = obeying(*host_);
  if (options.deterministic) invariant_ = std::make_unique<ThreadInvariantKernels>(steered(), thread_count);
  for (const auto& driver : options.accelerators) {
    const auto fault = accelerators_.empty() ? options.fault : std::nullopt;
    Accelerator added{driver->make(fault), nullptr, driver->fingerprint()};
    if (fault) added.sound = driver->make();
    added.obeying = obeying(*added.backend);
    accelerators_.push_back(std::move(added));
  }
}

ChooseTactic EngineKernels::choice() const {
  if (!invariant_) return nullptr;
  return [this](const KernelRequest& request, const Backend& backend) {
    return backend.device().host_visible() ? invariant_->choice(request) : std::string();
  };
}

std::vector<const Backend*> EngineKernels::steered_accelerators() const {
  std::vector<const Backend*> all;
  for (const Accelerator& each : accelerators_) all.push_back(&each.steered());
  return all;
}

const Driver& EngineKernels::driver() const {
  return options_.accelerators.empty() ? host_driver() : *options_.accelerators.front();
}

std::optional<FaultSpec> EngineKernels::fault() const {
  std::optional<FaultSpec> found = host_->applied_fault();
  for (const Accelerator& each : accelerators_) {
    if (auto own = each.backend->applied_fault()) found = own;
  }
  return found;
}

}  // namespace vernier
