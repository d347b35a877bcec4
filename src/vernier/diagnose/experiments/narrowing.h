// Looking into an engine that answers otherwise when it is looked into: as few values as it takes, each of
// them alone, and only such that leave the answer what it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/ir/graph.h"

namespace vernier {

// The values that the first nodes of a graph, in execution order, make for the others: who knows them needs
// none of the first nodes. What is no result of any operand is no such value.
class Borders {
 public:
  explicit Borders(const Graph& graph);  // which outlives this

  size_t nodes() const { return graph_.nodes().size(); }
  // Between the first so many nodes and the others. Outputs of the graph are left out.
  std::vector<std::string> at(size_t first) const;
  // Behind the node that makes the value.
  std::vector<std::string> behind(const std::string& value) const;

 private:
  struct Span {
    size_t made = 0, read = 0;  // numbers of the node, and of the last that reads it
    std::string name;
  };

  const Graph& graph_;
  std::vector<Span> spans_;  // in the order of making
};

// An inner value that the engine cannot show and give the same answer.
struct ChangingValue {
  std::string value;
  double error_shown = 0, error_unshown = 0;  // of the outputs, as bounded_distance() measures it

  // Whether the answer is right with the value shown: what is fused over it comes apart.
  bool heals() const { return error_shown < 0.3 * error_unshown; }
};

struct View {
  ShownRun shown;
  SameInputCheck check;
  std::vector<ChangingValue> changing;
};

struct NarrowingJob {
  EngineUnderTest* tested = nullptr;
  const Model* model = nullptr;
  const NamedData* inputs = nullptr;
  const NamedData* plain = nullptr;  // outputs of a run that shows nothing
  const NamedData* right = nullptr;  // outputs of what the engine is compared with
  bool fails = true;                 // plain outputs are not accepted
  double allowed = 0;            // how far the outputs of a run that shows something may be from plain ones
  size_t most_bytes = SIZE_MAX;  // of what is kept of nodes that are wrong
};

// Starts with what is shown already. Each node, or group of nodes between which nothing is seen, that is
// wrong on what it reads gets a value in its middle shown, until nothing more can be: so a fault is found in
// as many runs as it takes to halve the model down to it.
View narrow(const NarrowingJob& job, ShownRun start, Stopwatch& watch);

}  // namespace vernier
