// The discrete decisions of a model, and what a run of the reference gives that takes them as another runner
// took them, where they were ties.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/compare/compare.h"
#include "vernier/ir/graph.h"

namespace vernier {

// The reference's trace of a sample with everything that the decisions need (taps()), where the values that
// are named get the content given. Nothing from runners that cannot.
using ReferenceWithValues = std::function<std::optional<Trace>(const NamedData& values)>;

// How many elements of such a trace of the reference the actual side does not agree with.
using Disagreement = std::function<int64_t(const Trace& reference)>;

// The reference with decisions taken the other way, and which they were.
struct Retaken {
  std::optional<Trace> reference;  // nothing if a decision differs that was no tie
  DecisionsOfValues decisions;     // of the values asked for
  // The node of a decision that differs by no tie, although both sides show all that it read: a fault, which
  // noise that turns this decision over, too, must not explain. "" for none.
  std::string clear;
};

class Decisions {
 public:
  // Finds the decisions of the main graph; regions are not looked into. The graph outlives this.
  explicit Decisions(const Graph& graph);

  // The inner values that must be known of all decisions on which one of `values` depends, roundings to
  // quantized values among them if `quantized`; empty without any.
  std::vector<std::string> taps(const std::set<std::string>& values, bool quantized) const;

  // The values that tell how decisions came out. Quantized values are left out: noise of a quantized network
  // is what its roundings make of noise.
  std::set<std::string> results() const;

  // Decisions that are not looked at, in bodies of If, Loop and Scan on which one of `values` depends:
  // "TopK 'top' in Loop 'beams'".
  std::vector<std::string> inside_bodies(const std::set<std::string>& values) const;

  // Goes through the decisions on which one of `values` depends, in execution order. Where `actual` took one
  // otherwise and it was a tie, the reference takes it likewise from there on. Roundings to quantized values
  // are left alone unless `quantized`: each takes a run of the reference, and noise may do. Where `actual`
  // does not show what it took, the near ties are turned over one by one, and what lessens the disagreement
  // stays. A tie needs a margin within the error that reached the decision, and that error must be one that
  // is no fault by itself: within the default tolerance or that of `options`, or within the rounding noise
  // that `options` knows. Nothing if no decision differs.
  std::optional<Retaken> retake(const std::set<std::string>& values, const NamedData& inputs,
                                const ReferenceWithValues& reference, const Trace& actual,
                                const Disagreement& disagreement, const CompareOptions& options,
                                bool quantized) const;

 private:
  std::vector<const Node*> behind(const std::set<std::string>& values) const;

  const Graph& graph_;
  std::vector<const Node*> all_;  // in execution order
};

}  // namespace vernier
