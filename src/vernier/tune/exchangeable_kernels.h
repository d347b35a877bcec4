// Plans in which an approximate kernel can be exchanged for an exact one between runs: so it is measured what
// each does to the outputs.
#pragma once

#include "vernier/exec/backend_decorator.h"
#include "vernier/tune/tuner.h"

namespace vernier {

// A node that has two kernels.
struct Exchange {
  std::string value;        // its first output, by which PlanChoices name the node
  std::string exact;        // the tactic that would stand in
  double saved = 0;         // seconds of a run, as timed
  bool approximate = true;  // which of the two runs
};

class ExchangeableKernels : public BackendDecorator {
 public:
  // All outlive this. `exact` chooses among the tactics that are not approximate.
  ExchangeableKernels(const Backend& kernels, Tuner& exact, std::set<std::string> approximate)
      : BackendDecorator(kernels), exact_(exact), approximate_(std::move(approximate)) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;

  // Of all kernels made so far, in their order.
  const std::vector<std::shared_ptr<Exchange>>& exchanges() const { return exchanges_; }

 private:
  Tuner& exact_;
  std::set<std::string> approximate_;
  mutable std::vector<std::shared_ptr<Exchange>> exchanges_;
};

}  // namespace vernier
