// Sizes that change by the same step from run to run, as those of a decoder do with each token: the plan for
// the next is made by a thread that would wait otherwise, while this one runs.
#pragma once

#include "vernier/base/background_task.h"
#include "vernier/exec/program.h"

namespace vernier {

// Each session has one.
class Lookahead {
 public:
  explicit Lookahead(Program& program) : program_(program) {}
  Lookahead(const Lookahead&) = delete;  // the task refers to it
  Lookahead& operator=(const Lookahead&) = delete;

  // The plan that was made ahead for what comes now; null if there is none.
  std::shared_ptr<const Plan> take(const Program::Key& key);
  // Told what runs now by a plan that was made for it. Where sizes have changed by the same step twice, the
  // plan for the next step is begun.
  void note(const Program::Key& key, std::span<const Datum> inputs, Program::Bindings bindings);

 private:
  struct Next {
    Program::Key key;
    std::vector<ValueType> inputs;
    std::vector<MemoryBinding> bindings;
    std::shared_ptr<const Plan> plan = nullptr;
  };
  bool moves_on(const Program::Key& key);

  Program& program_;
  Program::Key last_, step_;  // what ran last, and its distance from what ran before
  Next next_;
  std::unique_ptr<BackgroundTask> task_;  // makes next_.plan; after it, for that refers to it
};

}  // namespace vernier
