// A session's way through a program: finds the plan for the inputs that come. All plans run in the memory of
// the session.
#pragma once

#include "vernier/exec/execution.h"
#include "vernier/exec/lookahead.h"

namespace vernier {

class ProgramRun {
 public:
  ProgramRun(Program& program, SessionMemory& memory);  // both outlive this

  // Inputs in the order of the graph.
  std::vector<Datum> run(std::span<const Datum> inputs, const RunOptions& options = {});
  void run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options = {});

  // Working memory beside that of the session.
  size_t bytes() const { return nodes_.bytes(); }

  static constexpr size_t kMaxExecutions = 4;

 private:
  Program& program_;
  DynamicShapeExecutor nodes_;
  SessionMemory& memory_;
  Execution& execution(std::span<const Datum> inputs, Program::Bindings bindings);

  std::list<std::pair<Program::Key, std::unique_ptr<Execution>>> executions_;  // used last comes first
  Lookahead ahead_;
};

}  // namespace vernier
