// A pass is a name and a function from graph to graph; a pipeline is a list of them.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// Says what a rewrite may do to the numbers (docs/adding.md).
enum class NumericalClass : uint8_t {
  kExact,          // the same bits
  kReassociating,  // the same function: sums in another order, fewer roundings
  kNarrowing,      // fewer bits stored
  kApproximate,    // another function
};
std::string_view numerical_class_name(NumericalClass value);

struct Pass {
  std::string name;
  NumericalClass numerics = NumericalClass::kExact;
  // Rewrites the graph, regions included, and gives the number of rewrites. Types are inferred before, and
  // after whatever the pass changed.
  std::function<int(Graph&)> run;
};

struct PassOptions {
  std::set<std::string> disabled;  // by name
  std::set<NumericalClass> forbidden;
};

// Records a pass that fired.
struct PassRecord {
  std::string name;
  NumericalClass numerics;
  int rewrites = 0;
};

// Runs the passes in order, infers types again after each that changed something, and verifies the result.
std::vector<PassRecord> run_passes(Graph& graph, const std::vector<Pass>& passes, const PassOptions& options);

}  // namespace vernier
