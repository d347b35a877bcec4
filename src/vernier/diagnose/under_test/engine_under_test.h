// The engine under test is diagnosed: an engine, behind whichever door it has.
#pragma once

#include <functional>
#include <memory>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/numeric/numerics_contract.h"

namespace vernier {

// Says what a run is to show.
struct ShowOptions {
  // Inner values, by name; nothing: all that can be seen.
  std::optional<std::vector<std::string>> values;
  // At most so many bytes of inner values are held at once. The rest is shown in batches, a run for each.
  size_t most_bytes = size_t{1} << 30;
  bool in_batches =
      true;  // otherwise there may be no graph, and nothing is shown, where one run does not hold all
};

// Holds what an engine made of one sample, as far as it can be seen.
struct ShownRun {
  // Whose values these are: that of the model, or of the engine's plan. What lies between values that are not
  // shown is a group there.
  std::shared_ptr<const Graph> graph;
  PlannedRoundings roundings;  // with which the reference runs that graph as the engine promises to
  // The model as the engine's plan quantizes it, node by node; null where no plan quantizes.
  std::shared_ptr<const Graph> quantized;
  NamedData defaults;  // of inputs that need not be given
  NamedData values;    // by name: outputs, and inner values that are shown
  // Inner values that are too large to be held at once, in execution order, and what runs the engine once
  // more for one of these batches. Empty where `values` holds all.
  std::vector<std::vector<std::string>> batches;
  std::function<NamedData(size_t batch)> fetch;
  std::map<const Node*, NumericsContract> contracts;  // of the nodes of which one is known
  std::vector<std::string> notes;                     // what showing the values changed

  // The inputs of a run, with the defaults of those that it leaves out.
  NamedData given(NamedData inputs) const {
    inputs.insert(defaults.begin(), defaults.end());
    return inputs;
  }
  // Null where none is known.
  const NumericsContract* contract_of(const Node& node) const {
    const auto found = contracts.find(&node);
    return found == contracts.end() ? nullptr : &found->second;
  }
};

class EngineUnderTest;
using StartAgain = std::function<std::unique_ptr<EngineUnderTest>()>;

class EngineUnderTest {
 public:
  virtual ~EngineUnderTest() = default;
  virtual const std::string& name() const = 0;
  // The outputs of one run, as a user has them. Throws what the engine throws.
  virtual NamedData run(const NamedData& inputs) = 0;
  // One more run, with whatever of it can be seen.
  virtual ShownRun show(const NamedData& inputs, const ShowOptions& options = {}) = 0;
  // The same engine, built or started once more; null where nobody can. What it needs outlives it.
  virtual std::unique_ptr<EngineUnderTest> fresh() { return nullptr; }
  // Assumes the contract of a kernel that nobody tells.
  virtual NumericsContract assumed_contract(const Node& node) const = 0;
  // Gives the contract of the kernel that made a value of the run, as far as anybody says.
  NumericsContract contract_of(const ShownRun& shown, const Node& node) const {
    const NumericsContract* known = shown.contract_of(node);
    return known == nullptr ? assumed_contract(node) : *known;
  }
  // Whether run() may be called at all: a recorded run is there once.
  virtual bool can_run() const { return true; }
  // The inner values that the engine may be asked for, in execution order, if asking for them may change what
  // it computes. None where watching changes nothing.
  virtual std::vector<std::string> intrusive_values() const { return {}; }
  // Gives what the same engine makes of another model; nothing if it takes no other. Throws what the engine
  // throws.
  virtual std::optional<NamedData> run_other(const Model& /*model*/, const NamedData& /*inputs*/) {
    return std::nullopt;
  }
  // The same engine with another model, which outlives it, to be looked into; null where it takes no other.
  virtual std::unique_ptr<EngineUnderTest> with_model(const Model& /*model*/) { return nullptr; }
  // A run that takes longer than so many seconds is ended, where there is somebody to end it.
  virtual void limit_time(double /*seconds*/) {}
};

// Gives the inputs that need not be given, as the graph says.
NamedData default_inputs(const Graph& graph);

// Gives the contract of most kernels of floats: sums in any order, functions accurate to a few ulp; in
// double, and stored as double, where the model says so.
NumericsContract float_contract(const Node& node);

}  // namespace vernier
