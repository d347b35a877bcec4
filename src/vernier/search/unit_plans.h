// Precision plans by units: which parts of a model may get types of their own, and the plan of an assignment.
#pragma once

#include "vernier/bench/profile.h"
#include "vernier/passes/pass.h"
#include "vernier/precision/options.h"
#include "vernier/precision/plan.h"
#include "vernier/search/prober.h"

namespace vernier {

class UnitPlans {
 public:
  // `given` is what the user fixed: patterns for nodes, and a plan. Nodes that a pattern names, and frozen
  // nodes of the plan, are in no unit. `types` are those to choose from; int8 needs ranges in `given`. The
  // model outlives this. Throws as make_precision_plan does.
  UnitPlans(const Model& model, const PassOptions& passes, PrecisionOptions given,
            const std::vector<ElementType>& types);

  const std::vector<SearchUnit>& units() const { return units_; }
  // The unit to which the time of an ONNX node counts: its own, or that which makes what the node reads.
  const std::map<std::string, size_t>& owners() const { return owners_; }
  // Gives the whole plan of the user; nothing: what the model declares.
  const std::optional<PrecisionPlan>& start() const { return start_; }
  // The same, the types that the model declares included.
  PrecisionPlan first() const;
  // The nodes of units are set by `search`; `reasons` by unit say why.
  PrecisionPlan plan(const TypeAssignment& types, const std::vector<std::string>& reasons = {}) const;

 private:
  void find_units(const std::vector<ElementType>& types);
  void find_owners();
  bool is_fixed(const std::string& node) const;
  // The plan of units that have the type `low`, or int8; all others are float.
  PrecisionPlan one_type(const TypeAssignment& types, ElementType low, bool with_int8) const;

  const Model& model_;
  std::unique_ptr<Graph> graph_;  // as plans are made for it: rewritten, not typed
  PrecisionOptions given_;
  std::optional<PrecisionPlan> start_;
  std::vector<SearchUnit> units_;
  std::map<std::string, size_t> owners_;
};

// The next functions say what the parts of a model take of a run.

// Milliseconds by unit: of the steps that compute their nodes; what several units share counts to each of
// them in equal parts. `owners` gives the unit of an ONNX node (UnitPlans::owners). Steps of no node, which
// change layouts, count to nobody.
std::vector<double> unit_times(const Profile& profile, const std::map<std::string, size_t>& owners,
                               size_t units);

}  // namespace vernier
