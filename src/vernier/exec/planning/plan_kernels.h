// The kernels of a plan while it is made: backends are asked in the layouts that they would have.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// Makes the request for the node, whose inputs lie in the slots `found` (see Step). Nothing if a size is not
// known.
std::optional<KernelRequest> request_at(const Node& node, const std::vector<SlotId>& found, const Plan& plan,
                                        PackedConstants& packed);

// The same as a device is asked: what lies in caches elsewhere comes plain, and no output may lie there.
KernelRequest request_on(int device, KernelRequest request, const std::vector<SlotId>& found,
                         const Plan& plan);

class PlanKernels {
 public:
  // All outlive this. A tactic that `choose` chooses becomes one of `choices`; one that no kernel of the host
  // takes leaves them.
  PlanKernels(const Backends& backends, PlanChoices& choices, const ChooseTactic& choose, KernelCache* cache)
      : backends_(backends), choices_(choices), choose_(choose), cache_(cache) {}

  // Both set the layouts of the request, and its tactic. Null, with `reason`, where there is none.
  std::shared_ptr<const Kernel> of_host(KernelRequest& request, std::string& reason);
  std::shared_ptr<const Kernel> of_accelerator(int device, KernelRequest& request, std::string& reason);

 private:
  void choose_tactic(KernelRequest& request, const Backend& backend);
  std::shared_ptr<const Kernel> make_or_find(const KernelRequest& request, std::string& reason) const;
  std::shared_ptr<const Kernel> make(const KernelRequest& request, std::string& reason) const;

  const Backends& backends_;
  PlanChoices& choices_;
  const ChooseTactic& choose_;
  KernelCache* cache_;
};

}  // namespace vernier
