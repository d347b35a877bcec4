#include "vernier/compile/shared_forms.h"

namespace vernier {

namespace {

constexpr size_t kLarge = size_t{1} << 16;  // bytes; what is smaller may be held in any number of forms

}  // namespace

void SharedForms::add(const Plan& plan) {
  for (const Slot& slot : plan.slots) {
    if (slot.home == Slot::Home::kConstant) plain_.insert(slot.constant.identity());
  }
}

// Forms are named when a kernel is made, and made when it first runs.
bool SharedForms::suffice(const KernelRequest& request, const std::string& tactic) const {
  PackedConstants named;
  for (const auto& input : request.inputs) {
    if (input && input->constant != nullptr) named.know(*input->constant);
  }
  KernelRequest asked = request;
  asked.tactic = tactic;
  asked.packed = &named;
  std::string reason;
  const auto kernel = backend_.make(asked, reason);
  if (!kernel) return false;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const auto& input = request.inputs[i];
    const bool is_large = input && input->constant != nullptr && input->constant->byte_size() >= kLarge;
    if (is_large && kernel->reads(i) && !plain_.contains(input->constant->identity())) return false;
  }
  const auto forms = named.forms();
  return std::all_of(forms.begin(), forms.end(), [&](const auto& entry) {
    return entry.second->size() < kLarge || packed_.contains(entry.first);
  });
}

}  // namespace vernier
