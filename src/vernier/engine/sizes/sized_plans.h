// Plans of one graph for sizes that come when an engine runs: what keeps them cheap.
#pragma once

#include <functional>

#include "vernier/engine/sizes/resizable_plans.h"

namespace vernier {

// Makes them of the graph for all sizes (RangedGraph), on which the passes of plans have run once; where one
// dimension alone differs from sizes that came before, of the plan that is there (ResizablePlan).
// Thread-safe.
class SizedPlans {
 public:
  struct Maker {
    // The graph for all sizes, its types inferred and its passes run. Asked for once.
    std::function<std::unique_ptr<Graph>()> graph;
    // The plan of a graph at known sizes.
    std::function<std::shared_ptr<const Plan>(std::shared_ptr<const Graph>, const PlanChoices&, KernelCache&)>
        plan;
    // Throws where a plan must not compute as it does: asked if its kernels compute otherwise than those of
    // the plan that it was made from.
    std::function<void(const Plan&)> require_obedience;
    Backends backends;  // by which plans are made
    PackedConstants& packed;
  };

  explicit SizedPlans(Maker maker) : maker_(std::move(maker)) {}

  // With these choices, which are `tuned`'s but for the bindings. It has its graph (Plan::has_graph) if that
  // is asked for. Null where the sizes of inputs do not tell all others, or do not fit: the graph is to be
  // inferred at these sizes then, which says what is wrong.
  std::shared_ptr<const Plan> plan(const std::vector<ValueType>& inputs, const PlanChoices& choices,
                                   const std::shared_ptr<const TunedSizes>& tuned, bool with_graph);

 private:
  const RangedGraph& ranged();
  // Null if there is none that is near enough.
  std::shared_ptr<const Plan> resized(const std::vector<ValueType>& inputs, const PlanChoices& choices,
                                      const TunedSizes* tuned);

  Maker maker_;
  std::unique_ptr<RangedGraph> ranged_;
  std::once_flag once_;
  KernelCache kernels_;  // of copies of ranged_
  ResizablePlans resizable_;
};

}  // namespace vernier
