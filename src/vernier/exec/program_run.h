// A session's way through a program: finds the plan for the inputs that come, and keeps memory for the plans
// used last.
#pragma once

#include "vernier/exec/execution.h"

namespace vernier {

class ProgramRun {
 public:
  explicit ProgramRun(Program& program);  // outlives this

  // Inputs in the order of the graph.
  std::vector<Datum> run(std::span<const Datum> inputs, const RunOptions& options = {});
  void run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options = {});

  // The memory kept for the plans used last.
  size_t bytes() const;

  static constexpr size_t kMaxExecutions = 4;

 private:
  Program& program_;
  NodeRunner nodes_;
  std::list<std::unique_ptr<Execution>> executions_;  // used last comes first
};

}  // namespace vernier
