// The sizes at which tactics were chosen, and what further sizes take of them.
#pragma once

#include <memory>

#include "vernier/exec/plan.h"

namespace vernier {

// Types of all inputs in the order of the graph, whose sizes are known, and what was chosen there.
struct TunedSizes {
  std::vector<ValueType> inputs;
  PlanChoices choices;
};

class TunedChoices {
 public:
  void add(TunedSizes sizes) { all_.push_back(std::make_shared<const TunedSizes>(std::move(sizes))); }
  void clear() { all_.clear(); }
  // The same sizes, or those from which fewest doublings lead to these; null if there are none. What is given
  // lasts as long as the pointer, and is the same each time.
  std::shared_ptr<const TunedSizes> nearest(const std::vector<ValueType>& inputs) const;
  // In the order in which they were added.
  const std::vector<std::shared_ptr<const TunedSizes>>& all() const { return all_; }

 private:
  std::vector<std::shared_ptr<const TunedSizes>> all_;
};

// Neighbouring tuned sizes at which a node has the same tactic; "" is the backend's own choice. Sizes are
// ordered by the number of elements of all inputs.
struct TacticRange {
  std::string tactic;
  std::vector<ValueType> first, last;
};

// Gives the ranges of each node whose tactic is not the same at all tuned sizes, by its first output.
std::map<std::string, std::vector<TacticRange>> tactic_ranges(const std::vector<TunedSizes>& tuned);

}  // namespace vernier
