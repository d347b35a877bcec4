// The memory of one session for one plan, and running the plan in it.
#pragma once

#include <functional>

#include "vernier/exec/node_runner.h"
#include "vernier/exec/plan.h"
#include "vernier/exec/scratch.h"

namespace vernier {

// What may watch a run: called after each step.
struct StepObserver {
  std::function<void(const Step&, int64_t nanoseconds)> timed;
  // Every value as it is made, plain; only values with producers.
  std::function<void(const Value&, const Datum&)> made;
};

class Execution {
 public:
  // `nodes` outlives this.
  Execution(std::shared_ptr<const Plan> plan, NodeRunner& nodes);

  // Inputs in the order of the graph, of the types and sizes that the plan is for. Outputs go to `outputs`
  // where that holds a tensor of the right type and sizes, else to new ones.
  void run(std::span<const Datum> inputs, std::vector<Datum>& outputs,
           const StepObserver* observer = nullptr);

  const Plan& plan() const { return *plan_; }

 private:
  const void* address(SlotId id) const;
  Datum datum(SlotId id) const;
  void set_made(SlotId id, Datum datum);
  void run_kernel(const Step& step);
  void run_node(const Step& step);
  void watch(const Step& step, const StepObserver& observer);

  std::shared_ptr<const Plan> plan_;
  NodeRunner& nodes_;
  Scratch arena_, scratch_;
  std::vector<void*> memory_;  // by slot that owns memory
  std::vector<Datum> data_;    // inputs, constants and made values, by slot that owns memory
  // Of each output, whether steps write into the caller's memory; false for a view of another output's.
  std::vector<bool> fills_memory_;
};

}  // namespace vernier
