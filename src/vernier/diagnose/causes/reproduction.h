// Which cause reproduces what an engine made.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

// A cause that was simulated.
struct Simulated {
  FailureClass failure;
  std::string what;
  std::vector<std::string> nodes, values;
  double residual = 1;  // the share of the error that it leaves, 0 to 1
  // The share of the elements that come out as other numbers. Beside a very large number all small ones are
  // alike, so this decides between causes that leave as much.
  double unlike = 1;
  // Values that heal the engine when they are shown, and that the node neither reads nor makes.
  size_t healing_apart = 0;
};

struct Reproduction {
  std::optional<Simulated> cause;  // nothing if none leaves little enough
  double confidence = 0;
  std::vector<Simulated> others;  // the best of each other class, by what they leave
  size_t tried = 0;
  std::vector<Simulated> likely;  // all that leave little enough, the cause first
};

// Simulates every cause that fits a node of the flagged node on what the engine read there, as long as there
// is time.
Reproduction reproduce(const FlaggedNode& flagged, const HypothesisContext& context,
                       const Stopwatch* watch = nullptr);

// Whether causes of several classes leave nearly as little.
bool is_ambiguous(const Reproduction& reproduction);

// Lets another run of the engine, in which the flagged node is wrong, too, decide between causes that leave
// as little of the error of the first: what reproduces few numbers by chance does not do so twice.
void decide_by(const FlaggedNode& other_run, const HypothesisContext& context, const Stopwatch* watch,
               Reproduction& reproduction);

}  // namespace vernier
