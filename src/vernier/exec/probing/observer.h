// Who watches a run, step by step: for taps, for checks of a step on the inputs that it saw, for timing. A
// run that nobody watches pays nothing for it.
#pragma once

#include <functional>
#include <string_view>

#include "vernier/exec/dynamic_shape_executor.h"

namespace vernier {

class Execution;

// By what a step ran of which nothing is left to compute: its result is its input under other sizes, or
// follows from the sizes of its inputs.
inline constexpr std::string_view kByView = "view", kByInference = "inference";

// A step in the middle of a run. What it reads and makes is shown as the host sees it: row-major, in memory
// that lasts until the observer returns, whatever layout and device it lies in; undefined where an operand is
// left out.
class ObservedStep {
 public:
  ObservedStep(Execution& execution, const Step& step) : execution_(execution), step_(step) {}

  const Plan& plan() const;
  const Step& step() const { return step_; }
  Datum input(size_t index) const { return seen(step_.inputs.at(index)); }
  Datum output(size_t index) const { return seen(step_.outputs.at(index)); }
  std::vector<Datum> inputs() const;
  std::vector<Datum> outputs() const;
  // The value of the graph that an output is; null where none is made, or it is one that lay elsewhere
  // before.
  const Value* value_made(size_t output) const;
  // Gives what each region of its node, in the order of the node, reads from around it.
  std::vector<std::vector<Datum>> captured() const;

 private:
  Datum seen(SlotId id) const;

  Execution& execution_;
  const Step& step_;
};

// Functions that are not set are not called. An exception of an observer ends the run.
struct Observer {
  // Before each step, when its inputs are there. Its outputs are not.
  std::function<void(const ObservedStep&)> before;
  // After each step, when its outputs are there, and what it took without the observers. An output may lie
  // where an input was (Kernel::in_place), which is lost then: who wants inputs asks before.
  std::function<void(const ObservedStep&, int64_t nanoseconds)> after;
  // The same as `after`, of each step in regions of control flow, before the step around it.
  std::function<void(const ObservedStep&, int64_t nanoseconds)> after_inside;
  // Each step without a kernel in its plan, those in regions of control flow, too, and by what it ran: the
  // name of the kernel that was made for its sizes, kByView, kByInference, or nothing where it ran with its
  // reference semantics. A node with regions is not told itself, but what runs in them is.
  std::function<void(const Step&, std::string_view by, int64_t nanoseconds)> made_when_run;
};

}  // namespace vernier
