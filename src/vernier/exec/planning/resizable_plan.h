// A plan for other sizes of a graph, made from one that is there. Nodes whose operands keep their sizes keep
// their steps and kernels: it takes as long as the others need.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "vernier/exec/planning/plan_kernels.h"
#include "vernier/exec/planning/shared_kernels.h"

namespace vernier {

// Holds the parts of a graph with other sizes, or contents that follow from sizes: copies of the nodes that
// read or make it, those in bodies of groups included, and of its values.
struct ResizedNodes {
  std::shared_ptr<Graph> graph;  // of the copies; what they read besides lies in the graph that was copied
  std::unordered_map<const Node*, const Node*> nodes;  // from the node that a copy takes the place of
  std::unordered_map<const Value*, Value*> values;     // likewise
  SymbolValues symbols;                                // that the sizes follow from
  // These have other sizes than before: copies of nodes, and values by what they are copies of.
  std::unordered_set<const Node*> changed;
  std::vector<const Value*> changed_values;
  std::vector<bool> changed_readers;  // what `changed` was made from, for whoever makes it
};

// A plan that takes other sizes, again and again.
class ResizablePlan {
 public:
  // `like` comes from make_plan, with these backends and `choices`; what is referred to outlives this.
  ResizablePlan(std::shared_ptr<const Plan> like, const Backends& backends, PackedConstants& packed,
                const PlanChoices& choices, KernelCache* cache);
  ResizablePlan(const ResizablePlan&) = delete;  // its parts refer to it
  ResizablePlan& operator=(const ResizablePlan&) = delete;

  // Takes the sizes that `nodes` have now: always the same ones, of which others are `changed` each time.
  // The resized plan is the one that make_plan would give at these sizes. False if that would not have the
  // same steps in the same layouts, and where what a region has a copy of is another: make_plan is to be
  // asked then, and this is of no use any more.
  bool resize(const ResizedNodes& nodes);

  const Plan& plan() const { return plan_; }
  // Whether each kernel computes as that of the plan which this was made from.
  bool computes_alike() const { return computes_alike_; }

 private:
  using Tactic = std::pair<const std::string, std::string>;  // of PlanChoices
  struct CopiedStep {
    size_t index;
    const Node* node;  // the copy
    bool is_part;      // of what lies in another slot; see part_offsets
    // That is chosen for it, and perhaps left out at the sizes of the plan that was copied; null: none.
    const Tactic* tactic;
    uint64_t signature;  // see SharedKernels
  };
  const Node* copy_of(const Node& node) const;  // null where it kept its sizes
  Slot& slot(SlotId id) { return plan_.slots[static_cast<size_t>(id)]; }
  const Slot& before(SlotId id) const { return like_->unplaced[static_cast<size_t>(id)]; }

  void begin();
  void begin_regions(Step& step, const Node& copy);
  void forget_places();
  bool resize(Slot& slot, const Slot& before);
  bool resize(const SlotView& view, const Node* copy);
  bool resize(const CopiedStep& copied);
  bool is_one_step(const SeparatedGroup& group);
  void resize_reorder(Step& step, const Step& before);
  const Tactic* tactic_of(const Node& node) const;
  // The device that computes this, whose inputs were `found`; its kernel becomes `kernel`, and the request
  // gets its layouts.
  int ask(KernelRequest& request, const std::vector<SlotId>& found, const Tactic* tactic,
          std::shared_ptr<const Kernel>& kernel);
  // The same, or what a step like this one was given.
  const SharedKernels::Made& kernel_of(const CopiedStep& copied, KernelRequest request);
  // Whether the kernel reads and makes the slots that the step has.
  bool lies_as(const Step& step, const KernelRequest& request);

  const std::shared_ptr<const Plan> like_;
  const Backends backends_;
  PackedConstants& packed_;
  const PlanChoices choices_;
  const ChooseTactic no_choice_;
  Plan plan_;
  PlanKernels kernels_;
  bool computes_alike_ = true;
  // Holds the copies, which are the same at each call.
  const ResizedNodes* nodes_ = nullptr;
  std::unordered_map<const Value*, std::vector<SlotId>> slots_;  // by the value that is in like_
  std::vector<const Node*> view_copies_;                         // of each view; null: its node is none
  std::vector<CopiedStep> steps_;
  std::vector<size_t> reorders_;  // steps
  SharedKernels shared_;          // at the sizes of now
  // Constants that programs of regions have copies of.
  std::unordered_set<const Value*> in_programs_;
};

}  // namespace vernier
