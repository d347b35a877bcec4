// From a model to an engine: passes, types, layouts and tactics, a plan for each of the sizes that are asked
// for.
#pragma once

#include "vernier/engine/engine.h"

namespace vernier {

class Compiler {
 public:
  // The model is copied; constants share their buffers. Throws as import does, and for options that do not
  // suit the model.
  explicit Compiler(const Model& model, const BuildOptions& options = {});

  const Graph& graph() const { return planner_->graph(); }
  const BuildOptions& options() const { return planner_->options(); }

  // Throws what inference says against inputs of these types; makes no plan.
  void require_sizes(const std::vector<ValueType>& inputs) const;
  // Chooses layouts and tactics for inputs of these types, as the options say, and makes the plan for the
  // number of threads that the caller has: it goes into the engine. Throws PrecisionDifference where the
  // precision plan is to be obeyed and is not.
  void prepare(const std::vector<ValueType>& inputs);
  // The same with choices that were made before.
  void prepare(const std::vector<ValueType>& inputs, const PlanChoices& choices);
  // Chooses layouts and tactics for inputs of these types and makes no plan: sizes near them take the
  // choices.
  void tune_for(const std::vector<ValueType>& inputs);
  // The same with choices that were made before.
  void keep_choices(TunedSizes sizes) { tuned_.add(std::move(sizes)); }
  // As if nothing had been prepared.
  void forget_prepared();

  const std::vector<PreparedPlan>& prepared() const { return prepared_; }
  const TunedChoices& tuned() const { return tuned_; }

  // The engine with what is prepared so far; it stays as it is, whatever is prepared later.
  std::shared_ptr<const Engine> engine() const;

 private:
  std::shared_ptr<const Plan> within_workspace(std::shared_ptr<const Plan> plan, const Graph& specialised);
  void keep(const std::vector<ValueType>& inputs, std::shared_ptr<const Plan> plan);

  std::shared_ptr<Planner> planner_;
  std::vector<PreparedPlan> prepared_;
  TunedChoices tuned_;
  Tuning tuning_;
};

// An engine with a plan for each of these sizes: types of all inputs, in the order of the graph. Throws as
// Compiler does. Builder (builder.h) chooses the sizes, too, and judges what comes of it.
std::shared_ptr<const Engine> compile(const Model& model, const BuildOptions& options = {},
                                      const std::vector<std::vector<ValueType>>& sizes = {});

}  // namespace vernier
