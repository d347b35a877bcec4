// Constants that an engine holds once, whatever the sizes of its plans are.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// The forms of constants that the plans of an engine read so far.
class SharedForms {
 public:
  SharedForms(const Backend& backend, const PackedConstants& packed)
      : backend_(backend), packed_(packed.forms()) {}

  void add(const Plan& plan);

  // Whether the kernel of this tactic reads no large constant in a further form.
  bool suffice(const KernelRequest& request, const std::string& tactic) const;

 private:
  const Backend& backend_;
  PackedConstants::Forms packed_;
  std::set<const void*> plain_;  // by identity
};

}  // namespace vernier
