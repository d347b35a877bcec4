#include "vernier/exec/program_run.h"

namespace vernier {

ProgramRun::ProgramRun(Program& program, SessionMemory& memory)
    : program_(program), nodes_(program.kernels()), memory_(memory) {}

void ProgramRun::run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options) {
  auto plan = program_.plan(inputs, options.caches);
  auto found = std::find_if(executions_.begin(), executions_.end(),
                            [&](const auto& each) { return &each->plan() == plan.get(); });
  if (found == executions_.end()) {
    executions_.push_front(std::make_unique<Execution>(std::move(plan), nodes_, memory_));
    if (executions_.size() > kMaxExecutions) executions_.pop_back();
  } else {
    executions_.splice(executions_.begin(), executions_, found);
  }
  executions_.front()->run(inputs, outputs, options);
}

std::vector<Datum> ProgramRun::run(std::span<const Datum> inputs, const RunOptions& options) {
  std::vector<Datum> outputs;
  run(inputs, outputs, options);
  return outputs;
}

}  // namespace vernier
