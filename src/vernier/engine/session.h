// Runs an engine: the mutable side. One session serves one thread at a time; sessions of one engine run at
// the same time.
#pragma once

#include "vernier/engine/engine.h"
#include "vernier/exec/program_run.h"

namespace vernier {

class Session {
 public:
  // Runs with so many threads; 0: as many as the calling thread would use. This and runs throw bad_input if a
  // file that the engine's constants are mapped from was changed.
  explicit Session(std::shared_ptr<const Engine> engine, int threads = 0);
  ~Session();  // waits for runs that go on

  // Inputs by name; those with a default may be left out. Throws bad_input for missing or unknown inputs,
  // wrong types and sizes.
  NamedData run(const NamedData& inputs, const Observer* observer = nullptr);
  // Gives the plan that runs these inputs.
  std::shared_ptr<const Plan> plan(const NamedData& inputs);
  // The same with its graph (Plan::has_graph); they are run by it from now on.
  std::shared_ptr<const Plan> plan_with_graph(const NamedData& inputs);
  // Inputs in the order of the graph, and of its types; see Execution::run.
  void run(std::span<const Datum> inputs, std::vector<Datum>& outputs, const RunOptions& options);

  // Waits for runs that go on (RunOptions::stream). Throws what went wrong in them, if no run since did.
  void settle() { memory_.settle(); }

  const Engine& engine() const { return *engine_; }

  // Working memory: one arena for all plans, large enough for each that the engine was prepared for; what a
  // plan does not use of it is never touched.
  size_t bytes() const { return memory_.bytes() + run_.bytes(); }
  // Gives what runs so far have captured, and what they could not.
  const ReplayStore& replays() const { return memory_.replays(); }

 private:
  std::shared_ptr<const Engine> engine_;
  int threads_;
  Program& program_;
  SessionMemory memory_;
  ProgramRun run_;
};

}  // namespace vernier
