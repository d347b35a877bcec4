// Runs an engine: the mutable side. One session serves one thread at a time; sessions of one engine run at
// the same time.
#pragma once

#include "vernier/engine/engine.h"
#include "vernier/exec/program_run.h"

namespace vernier {

class Session {
 public:
  explicit Session(std::shared_ptr<Engine> engine);

  // Inputs by name; those with a default may be left out. Throws bad_input for missing or unknown inputs,
  // wrong types and sizes.
  NamedData run(const NamedData& inputs, const StepObserver* observer = nullptr);
  // What these inputs are run by.
  std::shared_ptr<const Plan> plan(const NamedData& inputs);

 private:
  std::shared_ptr<Engine> engine_;
  ProgramRun run_;
};

}  // namespace vernier
