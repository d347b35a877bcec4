// What a caller may ask of a run.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string_view>

#include "vernier/tensor/tensor.h"

namespace vernier {

class Value;
struct Step;

// By what a step ran of which nothing is left to compute: its result is its input under other sizes, or
// follows from the sizes of its inputs.
inline constexpr std::string_view kByView = "view", kByInference = "inference";

// What may watch a run: called after each step.
struct StepObserver {
  std::function<void(const Step&, int64_t nanoseconds)> timed;
  // Each step without a kernel in its plan, those in regions of control flow, too, and by what it ran: the
  // name of the kernel that was made for its sizes, kByView, kByInference, or nothing where it ran with its
  // reference semantics. A node with regions is not told itself, but what runs in them is.
  std::function<void(const Step&, std::string_view by, int64_t nanoseconds)> made_when_run;
  // Every value as it is made, plain; only values with producers.
  std::function<void(const Value&, const Datum&)> made;
};

// Memory of the caller for one output, of exactly this type and these sizes, that overlaps no input.
struct OutputMemory {
  ElementType element = ElementType::kUndefined;  // undefined: none is given, the run makes it
  Dims dims;
  void* data = nullptr;

  bool given() const { return element != ElementType::kUndefined; }
};

struct RunOptions {
  const StepObserver* observer = nullptr;
  std::span<const OutputMemory> memory = {};  // empty, or one for each output
  const std::atomic<bool>* stop = nullptr;    // set from any thread: the run ends before its next step
  bool shares_inputs = false;                 // outputs may be inputs, in the same memory
};

// Thrown by a run that was told to stop.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the run was stopped"; }
};

inline void stop_if_told(const std::atomic<bool>* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Stopped();
}

}  // namespace vernier
