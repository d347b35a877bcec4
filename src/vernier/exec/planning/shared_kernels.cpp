#include "vernier/exec/planning/shared_kernels.h"

#include <algorithm>

#include "vernier/base/hash.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

size_t first_use(const Node& node, size_t input) {
  return static_cast<size_t>(std::find(node.inputs.begin(), node.inputs.end(), node.inputs[input]) -
                             node.inputs.begin());
}

// Kernels look at the values, too: a product of x and x reads one operand, and constants are packed.
bool reads_alike(const Node& a, const Node& b) {
  if (a.inputs.size() != b.inputs.size()) return false;
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const Value *one = a.inputs[i], *other = b.inputs[i];
    if ((one == nullptr) != (other == nullptr) || first_use(a, i) != first_use(b, i)) return false;
    if (one == nullptr || one == other) continue;
    if (one->is_constant() != other->is_constant()) return false;
    if (one->is_constant() && one->constant->identity() != other->constant->identity()) return false;
  }
  return true;
}

}  // namespace

uint64_t signature_of(const Node& node, std::string_view tactic) {
  return hash_text(tactic, ops::structure_of(node));
}

bool computes_like(const Kernel& kernel, const Kernel& other) {
  return kernel.name == other.name && kernel.contract == other.contract;
}

const SharedKernels::Made* SharedKernels::find(uint64_t signature, const KernelRequest& request) const {
  const auto found = std::find_if(made_.begin(), made_.end(), [&](const Made& made) {
    return made.signature == signature && made.inputs == request.inputs && made.outputs == request.outputs &&
           made.kernel && request.like != nullptr && computes_like(*made.kernel, *request.like) &&
           reads_alike(made.request.node, request.node);
  });
  return found == made_.end() ? nullptr : &*found;
}

const SharedKernels::Made& SharedKernels::add(Made&& made) {
  return made_.emplace_back(std::move(made));
}

}  // namespace vernier
