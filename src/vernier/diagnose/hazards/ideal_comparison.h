// The reference with and without rounding, side by side.
#pragma once

#include <set>

#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// Two runs of one graph: what is made, and what is meant.
class RunPair {
 public:
  virtual ~RunPair() = default;
  virtual const Graph& graph() const = 0;
  // Inputs and constants included; null for what is not a tensor, or not known.
  virtual const Tensor* meant(const Value& value) const = 0;
  virtual const Tensor* made(const Value& value) const = 0;
};

class IdealComparison : public RunPair {
 public:
  // All outlive this. `roundings` null: as the graph declares.
  IdealComparison(const Graph& graph, const NamedData& inputs, const PlannedRoundings* roundings);

  const Graph& graph() const override { return graph_; }
  // Without rounding, and of the last run with it.
  const Tensor* meant(const Value& value) const override;
  const Tensor* made(const Value& value) const override;
  // Names what a run with rounding leaves out.
  struct Healed {
    // They compute without rounding on what they read; what they give each other is not rounded either.
    std::set<const Node*> exact;
    // Their results are those of the run without rounding, so that what is before them does not count.
    std::set<const Node*> given;

    bool contains(const Node* node) const { return exact.contains(node) || given.contains(node); }
  };
  void run(const Healed& healed);

  // Says of the run before how far the outputs are from the ideal ones, in units that are the same for all
  // runs.
  double distance() const;
  // Relative L2 from the ideal outputs, the largest; infinite where NaN and Inf stand elsewhere.
  static double relative_error(const NamedData& ideal, const NamedData& actual);
  const NamedData& outputs() const { return outputs_; }
  const NamedData& ideal_outputs() const { return ideal_outputs_; }
  // Gives the unit roundoff of the narrowest float of the graph that is computed.
  static double unit_roundoff(const Graph& graph);

 private:
  // Gives what a node makes without rounding; nothing where it cannot be run by itself.
  std::vector<Tensor> exact(const Node& node, std::span<const Datum* const> operands) const;

  const Graph& graph_;
  const NamedData& inputs_;
  const PlannedRoundings* roundings_;
  std::map<const Value*, Tensor> ideal_, rounded_;
  std::map<const Value*, Tensor> exact_;  // unrounded results of healed nodes
  NamedData outputs_, ideal_outputs_;
};

}  // namespace vernier
