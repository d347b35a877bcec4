#include "vernier/exec/program_run.h"

namespace vernier {

ProgramRun::ProgramRun(Program& program, SessionMemory& memory)
    : program_(program), nodes_(program.kernels()), memory_(memory), ahead_(program) {}

// By the plan that the program keeps, or by one that this session has, or by a new one, for which the oldest
// here may become free.
Execution& ProgramRun::execution(std::span<const Datum> inputs, Program::Bindings bindings) {
  auto key = Program::key(inputs, bindings);
  auto plan = program_.find(key);
  const auto found = std::find_if(executions_.begin(), executions_.end(), [&](const auto& each) {
    return plan ? &each.second->plan() == plan.get() : each.first == key;
  });
  if (found != executions_.end()) {
    executions_.splice(executions_.begin(), executions_, found);
    return *executions_.front().second;
  }
  memory_.settle();  // a run that goes on may use what is freed now, or moves
  if (executions_.size() >= kMaxExecutions) executions_.pop_back();
  if (!plan) plan = ahead_.take(key);
  if (!plan) plan = program_.plan(inputs, bindings);
  ahead_.note(key, inputs, bindings);
  executions_.emplace_front(std::move(key), std::make_unique<Execution>(std::move(plan), nodes_, memory_));
  return *executions_.front().second;
}

void ProgramRun::run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options) {
  execution(inputs, options.bindings).run(inputs, outputs, options);
}

std::vector<Datum> ProgramRun::run(std::span<const Datum> inputs, const RunOptions& options) {
  std::vector<Datum> outputs;
  run(inputs, outputs, options);
  return outputs;
}

}  // namespace vernier
