#include "vernier/backends/shared/faults/fault_injector.h"

#include <algorithm>

#include "vernier/backends/shared/faults/fault_kernels.h"
#include "vernier/ops/group.h"

namespace vernier {

std::unique_ptr<Kernel> FaultInjector::make(const KernelRequest& request, std::string& reason) const {
  if (stops_process(spec_.kind)) return make_stopping(request, reason);
  FaultSpec spec = spec_;
  {
    const std::lock_guard lock(mutex_);
    if (!found_.empty()) spec.node = found_;  // plans for other sizes get the fault at the same node
  }
  // The plan asks for the groups in a group one by one: faults go into operands, which only these read
  // directly.
  const auto members = members_of(request.node);
  const bool nested = std::any_of(members.begin(), members.end(), [&](const Node* member) {
    return member != &request.node && ops::is_group(*member);
  });
  if (nested && std::any_of(members.begin(), members.end(),
                            [&](const Node* member) { return is_meant(spec, *member); })) {
    reason = "a fault is put into one of its nodes";
    return nullptr;
  }
  bool applies = false;
  for (const auto make :
       {&FaultInjector::make_changed, &FaultInjector::make_summing, &FaultInjector::make_spoiled}) {
    auto kernel = (this->*make)(spec, request, reason, applies);
    if (applies) return kernel;
  }
  return sound_(request, reason);
}

// A member that the backend computes in a group, and not alone, gets no kernel in the group: the plan then
// asks for each member.
std::unique_ptr<Kernel> FaultInjector::make_changed(const FaultSpec& spec, const KernelRequest& request,
                                                    std::string& reason, bool& applies) const {
  auto changed = std::make_shared<ChangedRequest>(request);
  const std::string node = change_operands(spec, *changed);
  applies = !node.empty();
  if (!applies) return nullptr;
  auto kernel = make_sound(changed, reason);
  if (!kernel) return nullptr;
  Mover crop;
  if (made_dims(request, *changed) != request.out().memory_dims()) {
    crop.request = crop_request(request, *changed);
    crop.kernel = make_sound(crop.request, reason);
    if (!crop.kernel) return nullptr;
  }
  note(node);
  return run_changed({spec.kind, device_, request}, std::move(changed), std::move(kernel), std::move(crop));
}

// Without a kernel of the backend the reference computes it, where that reads the memory.
std::unique_ptr<Kernel> FaultInjector::make_sound(std::shared_ptr<ChangedRequest> request,
                                                  std::string& reason) const {
  auto kernel = sound_(request->request(), reason);
  if (kernel || !device_.host_visible()) return kernel;
  return make_reference_kernel(std::move(request), reason);
}

std::unique_ptr<Kernel> FaultInjector::make_summing(const FaultSpec& spec, const KernelRequest& request,
                                                    std::string& reason, bool& applies) const {
  if (!spoils_sums(spec.kind)) return nullptr;
  for (const Node* member : members_of(request.node)) {
    applies = is_meant(spec, *member) && request.has(0) && sums_products(*member, request.in(0));
    if (!applies) continue;
    reason = "a fault is put into one of its nodes";
    if (ops::is_group(request.node)) return nullptr;
    auto kernel = sums_(spec.kind, request, reason);
    if (kernel) note(onnx_name(spec, *member));
    return kernel;
  }
  return nullptr;
}

std::unique_ptr<Kernel> FaultInjector::make_spoiled(const FaultSpec& spec, const KernelRequest& request,
                                                    std::string& reason, bool& applies) const {
  const auto members = members_of(request.node);
  const auto meant = std::find_if(members.begin(), members.end(),
                                  [&](const Node* member) { return is_meant(spec, *member); });
  applies = meant != members.end() && spoils_output(spec.kind, request);
  if (!applies) return nullptr;
  auto kernel = sound_(request, reason);
  if (!kernel && device_.host_visible())
    kernel = make_reference_kernel(std::make_shared<ChangedRequest>(request), reason);
  if (!kernel) return nullptr;
  Mover transpose;
  if (spec.kind == Fault::kSwappedAxis) {
    transpose.request = swap_request(request);
    transpose.kernel = make_sound(transpose.request, reason);
    if (!transpose.kernel) return nullptr;
  }
  note(onnx_name(spec, **meant));
  return spoil_output({spec.kind, device_, request}, std::move(kernel), std::move(transpose));
}

std::unique_ptr<Kernel> FaultInjector::make_stopping(const KernelRequest& request,
                                                     std::string& reason) const {
  auto kernel = sound_(request, reason);
  const bool meant =
      is_meant(spec_, request.node) && (spec_.tactic.empty() || spec_.tactic == request.tactic);
  if (!kernel || !meant) return kernel;
  note(onnx_name(spec_, request.node));
  return stop_process(spec_.kind, std::move(kernel));
}

void FaultInjector::note_tactics(const KernelRequest& request,
                                 const std::vector<std::string>& tactics) const {
  if (!stops_process(spec_.kind) || !is_meant(spec_, request.node)) return;
  if (spec_.tactic.empty() || std::find(tactics.begin(), tactics.end(), spec_.tactic) != tactics.end())
    note(onnx_name(spec_, request.node));
}

void FaultInjector::note(const std::string& node) const {
  const std::lock_guard lock(mutex_);
  if (found_.empty()) found_ = node;
}

FaultSpec FaultInjector::applied() const {
  const std::lock_guard lock(mutex_);
  if (found_.empty())
    throw usage_error("the fault {} applies to no node of the plan", fault_text(spec_))
        .advise(
            "name a node that `vernier inspect --show layers` shows and that no pass folds away, or disable "
            "the pass");
  return stops_process(spec_.kind) ? spec_ : FaultSpec{spec_.kind, found_};
}

}  // namespace vernier
