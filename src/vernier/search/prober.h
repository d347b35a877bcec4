// A search over precision plans asks how wrong a plan is, how fast, and what each part of the model would
// gain. The search itself needs no engine, and is tested without any.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/bench/statistics.h"
#include "vernier/numeric/element_type.h"

namespace vernier {

// ONNX nodes that get one type together: a contraction, and what was merged with it. What lies between them
// follows by rule (precision/rules.h).
struct SearchUnit {
  std::vector<std::string> nodes;
  std::vector<ElementType> types;  // that it may be computed in, beside that of the model
};

// By unit; FLOAT: as the model declares.
using TypeAssignment = std::vector<ElementType>;

// Nothing: the plan that the search begins with.
using CandidatePlan = std::optional<TypeAssignment>;

// Screening is a small part of the selection.
enum class DataPart : uint8_t { kScreening, kSelection, kHeldOut };

struct PlanScore {
  // Relative L2 of the outputs against the declared reference, the worst over outputs and samples. Infinite
  // where a NaN or Inf, or other sizes, stand against a number, and where there is no engine.
  double error = std::numeric_limits<double>::infinity();
  // In the unit of the target (target.h), which holds where this is not above its limit.
  double deviation = std::numeric_limits<double>::infinity();
  std::optional<double> metric = {};  // in points, 100 is perfect
  size_t samples = 0, beyond = 0;     // that were run, and of these beyond the limit
  // Bounds the points lost with a probability of 95 %, where the metric is a mean over rows.
  std::optional<Interval> loss = {};
  std::string failure = {};  // why there is no engine

  bool holds(double limit) const { return failure.empty() && deviation <= limit; }
};

// Holds times of engines that compute everything that may be lowered in one type, as timed step by step.
struct UnitTimes {
  std::map<ElementType, std::vector<double>> units;  // milliseconds by unit; FLOAT: as the model declares
  std::map<ElementType, double> whole;               // of a run
  std::vector<std::string> notes;                    // types that were left out, and why
};

struct RacedPlan {
  CandidatePlan types;
  double latency_ms = 0;  // median
  // How many times as long it takes as the plan that the search began with, timed in turn; 95 %.
  double ratio = 1;
  Interval ratio_interval{1, 1};
  PlanScore selection, held_out;  // of the tuned engine
};

class PlanProber {
 public:
  virtual ~PlanProber() = default;
  virtual const std::vector<SearchUnit>& units() const = 0;
  // Whether the plan that the search begins with is what the model declares.
  virtual bool starts_declared() const = 0;
  // Types that could not be measured for want of time are left out.
  virtual UnitTimes times() = 0;
  // Scores a quickly built engine. Samples behind one that is beyond the target's limit need not be run.
  // Nothing if there is no time left.
  virtual std::optional<PlanScore> score(const TypeAssignment& types, DataPart part) = 0;
  // Scores tuned engines and times them in turn. The first plan is the one that ratios are to.
  virtual std::vector<RacedPlan> race(const std::vector<CandidatePlan>& plans) = 0;
};

}  // namespace vernier
