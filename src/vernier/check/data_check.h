// The hazards that only data show: what the reference computes on samples, watched value by value.
#pragma once

#include <memory>

#include "vernier/check/check.h"

namespace vernier {

// Keeps a few numbers of each value, so memory does not grow with the number of samples.
class DataCheck {
 public:
  // `model` must outlive this.
  DataCheck(const Model& model, const CheckOptions& options);
  ~DataCheck();

  // To be called with every input and every value of the main graph, in execution order, of every sample.
  void observe(const Value& value, const Datum& datum);
  // Gives what all samples so far have shown, ranked.
  std::vector<Finding> findings() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
