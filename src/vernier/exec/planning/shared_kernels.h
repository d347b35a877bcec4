// Kernels that steps of one plan share. Layers of a model ask for the same, one after the other: what the
// first was given serves all.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// A hash of what a node computes of its operands, and of the tactic ("": the backend's own).
uint64_t signature_of(const Node& node, std::string_view tactic);

bool computes_like(const Kernel& kernel, const Kernel& other);

class SharedKernels {
 public:
  using Operands = std::vector<std::optional<Operand>>;

  struct Made {
    uint64_t signature;
    Operands inputs, outputs;                        // as they were when it was asked
    KernelRequest request;                           // in the layouts that the kernel takes and gives
    std::shared_ptr<const Kernel> kernel = nullptr;  // null: there is none
    int device = kHost;
    bool by_tactic = false;  // by the one that was asked for
  };

  // Null unless the same was asked with operands of the same sizes, constants being the same ones, and
  // answered by a kernel that computes like the one that the request names (KernelRequest::like): nothing
  // speaks against that one at this node, neither a precision plan nor the quarantine. Lasts until the next
  // is added.
  const Made* find(uint64_t signature, const KernelRequest& request) const;
  const Made& add(Made&& made);
  void clear() { made_.clear(); }

 private:
  std::vector<Made> made_;
};

}  // namespace vernier
