// A plan of an engine file, before it is made: loading an engine makes none.
#pragma once

#include <functional>
#include <mutex>

#include "vernier/exec/plan.h"

namespace vernier {

// Thread-safe.
class RestoredPlan {
 public:
  struct Recipe {
    std::vector<ValueType> inputs;
    PlanChoices choices;
    int threads = 1;
    size_t arena_bytes = 0;
    std::function<std::unique_ptr<Graph>()> graph;  // what the plan runs, at these sizes
    // Throws unless the plan is the one that was built: else the verdict of the file is not of this engine.
    std::function<void(const Plan&)> require_same;
  };
  using Make = std::function<std::shared_ptr<const Plan>(const Recipe& recipe)>;

  explicit RestoredPlan(Recipe recipe) : recipe_(std::move(recipe)) {}

  const Recipe& recipe() const { return recipe_; }
  // Made by the first call; if that throws, by the next.
  std::shared_ptr<const Plan> plan(const Make& make);

 private:
  Recipe recipe_;
  std::once_flag once_;
  std::shared_ptr<const Plan> plan_;
};

}  // namespace vernier
