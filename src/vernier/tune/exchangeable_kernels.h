// Plans in which an approximate kernel can be exchanged for an exact one between runs: so it is measured what
// each does to the outputs.
#pragma once

#include <vector>

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

  // Gives the exchanges of all kernels made so far, in their order.
  const std::vector<std::shared_ptr<Exchange>>& exchanges() const { return exchanges_; }

 private:
  Tuner& exact_;
  std::set<std::string> approximate_;
  mutable std::vector<std::shared_ptr<Exchange>> exchanges_;
};

// Which approximations can stay together within a limit.

// One that can be had or not.
struct Approximation {
  double saved = 0;           // what it is worth: seconds
  std::vector<double> share;  // of the limit, squared, that it takes at each place; NaN is more than any
};

// Keeps those whose shares add up to at most 1 at every place, and which save much: errors of unlike origin
// are independent, so their squares add up. Begins with all, gives up whichever relieves the places beyond
// the limit most for what it saves, and takes back in the end what fits after all. The same input gives the
// same choice.
std::vector<bool> keep_within_limit(const std::vector<Approximation>& approximations);

}  // namespace vernier
