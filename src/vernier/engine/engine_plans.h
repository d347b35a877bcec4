// The plans of an engine: those that it was compiled with, those of its file, and those that are made when
// sizes first come. What changes while engines run is kept here.
#pragma once

#include "vernier/engine/file/restored_plan.h"
#include "vernier/engine/planner.h"
#include "vernier/exec/program.h"

namespace vernier {

// A plan for inputs of these types, made for so many threads.
struct PreparedPlan {
  std::vector<ValueType> inputs;
  std::shared_ptr<const Plan> plan;
  int threads;
};

// Thread-safe.
class EnginePlans {
 public:
  // `planner` outlives this. `recorded` are the plans of an engine file, each made when its sizes first come;
  // `tuned` says what was chosen, and at which sizes: those that were prepared, and those that were only
  // tuned.
  EnginePlans(Planner& planner, std::vector<PreparedPlan> prepared,
              std::vector<RestoredPlan::Recipe> recorded, TunedChoices tuned);

  // Gives the plans that were prepared. Makes those of an engine file that were not needed yet, and throws
  // what making them throws.
  const std::vector<PreparedPlan>& prepared();
  const TunedChoices& tuned() const { return tuned_; }
  // Kernels are made for a number of threads, so there is a program for each; to be run, and asked for plans,
  // under that number only.
  Program& program(int threads);
  // Gives the bytes of working memory that the largest plan needs which was prepared, or is to be restored.
  size_t largest_arena() const { return largest_arena_; }

 private:
  // The plan that an engine file has for these sizes and so many threads as the caller has; null if none.
  std::shared_ptr<const Plan> restored(const std::vector<ValueType>& inputs);

  Planner& planner_;
  std::vector<PreparedPlan> prepared_;
  std::list<RestoredPlan> restored_;
  std::once_flag restored_once_;  // whether prepared_ has them
  TunedChoices tuned_;
  size_t largest_arena_ = 0;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Program>> programs_;  // by number of threads
};

}  // namespace vernier
