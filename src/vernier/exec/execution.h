// Running one plan in the memory of a session.
#pragma once

#include "vernier/exec/plan.h"
#include "vernier/exec/probing/observer.h"
#include "vernier/exec/replay/replay_segments.h"
#include "vernier/exec/session_memory.h"

namespace vernier {

class Execution {
 public:
  // `nodes` and `memory` outlive this. Other executions may use the memory between runs.
  Execution(std::shared_ptr<const Plan> plan, DynamicShapeExecutor& nodes, SessionMemory& memory);

  // Inputs in the order of the graph, of the types and sizes that the plan is for. Outputs go to `outputs`
  // where that holds a tensor of the right type and sizes, else to new ones; those with memory of the caller
  // borrow it. No output shares memory with an input. Throws bad_input, naming the output, where the caller's
  // memory is of another type or other sizes, and Stopped. Whatever is thrown, the next run starts afresh.
  void run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options = {});

  const Plan& plan() const { return *plan_; }

 private:
  friend class ObservedStep;
  friend class RepeatedRun;

  const void* address(SlotId id) const;
  Datum datum(SlotId id) const;
  void set_made(SlotId id, Datum datum);
  void place_arenas();
  void open_streams();
  Stream* stream_of(const Step& step) const;
  void run_step(size_t index, const RunOptions& options);
  void enqueue_copy(const Step& step);
  // A kernel, or a copy.
  void enqueue(const Step& step);
  // Tells the accelerators what a step of the host does to memory that their copies may use, too.
  void tell_devices(const Step& step) const;
  // Fetches what lies on an accelerator, as the stream of a step finds it.
  Tensor fetched(SlotId id, const Step& step);
  // Until what the step reads is there: for the host, or in the order of the step's stream.
  void wait_for_inputs(const Step& step);
  // Throws what went wrong on a device.
  void wait_for(const std::vector<size_t>& steps);
  // The run begins after what the caller has enqueued on its stream.
  void follow(const RunOptions& options);
  // The run has ended, or what the caller enqueues on its stream begins after it.
  void end(const RunOptions& options);
  bool only_enqueues(const RunOptions& options) const;
  void drain() noexcept;
  void run_kernel(const Step& step);
  void run_node(const Step& step, const RunOptions& options);
  void run_steps(size_t first, size_t last, const RunOptions& options);
  // All steps; what can be replayed is, unless somebody watches.
  void run_all_steps(const RunOptions& options);
  void run_segment(const ReplaySegment& segment, const RunOptions& options);
  std::unique_ptr<Replay> capture(const ReplaySegment& segment, std::string& reason);
  void begin(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options);
  void prepare_outputs(std::vector<Datum>& outputs, const RunOptions& options);
  void finish_outputs(std::vector<Datum>& outputs, std::span<const Datum> inputs, const RunOptions& options);
  void run_observed(size_t index, const RunOptions& options);

  std::shared_ptr<const Plan> plan_;
  DynamicShapeExecutor& nodes_;
  SessionMemory& session_;
  std::vector<std::byte*> bases_;  // of the arenas, when memory_ was set
  std::vector<Stream*> streams_;   // those of the plan
  std::vector<Event> events_;      // of each step that is awaited
  std::vector<ReplaySegment> segments_;
  std::vector<const void*> addresses_;  // of a segment's memory, while its replay is looked for
  std::vector<void*> memory_;           // by slot that owns memory
  std::vector<Datum> data_;             // inputs, constants and made values, by slot that owns memory
  // Says of each output whether steps write into the caller's memory; false for a view of another output's.
  std::vector<bool> fills_memory_;
  int only_device_ = kHost;  // all of the plan is there; the host if there is none
};

}  // namespace vernier
