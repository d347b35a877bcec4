#include "vernier/engine/file/restored_plan.h"

namespace vernier {

std::shared_ptr<const Plan> RestoredPlan::plan(const Make& make) {
  std::call_once(once_, [&] {
    auto made = make(recipe_);
    recipe_.require_same(*made);
    plan_ = std::move(made);
    recipe_.graph = nullptr;  // and what it holds of the file
    recipe_.require_same = nullptr;
  });
  return plan_;
}

}  // namespace vernier
