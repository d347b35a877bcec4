// Where a model makes large errors of roundings.
#pragma once

#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// A node that makes much more of the errors in what it reads.
struct Amplifier {
  std::string node;
  double reads = 0, makes = 0;  // relative L2 of the error in the worst of its operands, and of its results
};

class AmplifierSearch {
 public:
  // All outlive this.
  AmplifierSearch(const EngineUnderTest& tested, const ShownRun& shown, const NamedData& inputs,
                  uint64_t seed)
      : tested_(tested), shown_(shown), inputs_(inputs), seed_(seed) {}

  // The worst on the way to an output of the graph: from that back, over the operand that errs the most.
  // Nothing where the output does not err, or none of the nodes makes more of it. The first call runs the
  // reference four times, and holds the results of all nodes meanwhile. Throws what the reference throws.
  std::optional<Amplifier> worst_before(const std::string& output);

 private:
  using Errors = std::map<const Value*, double>;  // relative L2
  Errors errors_from(const InterpreterOptions& side);

  const EngineUnderTest& tested_;
  const ShownRun& shown_;
  const NamedData& inputs_;
  uint64_t seed_;
  std::vector<Errors> errors_;  // of runs that roundings move: as planned, and without any others
};

}  // namespace vernier
