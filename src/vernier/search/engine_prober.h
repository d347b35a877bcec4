// Probes of precision plans by engines: built quickly for scores, tuned for times.
#pragma once

#include <functional>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/builder/builder.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/search/metric_points.h"
#include "vernier/search/target.h"
#include "vernier/search/tuning_data.h"
#include "vernier/search/unit_plans.h"

namespace vernier {

struct EngineProberOptions {
  BuildOptions build;  // of tuned engines, but for the precision
  TuneTarget target;
  std::filesystem::path labels;  // of the metric, for messages
  std::string output;            // that the metric is about; empty: the first
  uint64_t seed = 1;
  double race_seconds = 3;  // that the engines of a race are timed, together
  // No further sample is run, and no further engine of one type is made.
  std::function<bool()> is_over = [] { return false; };
  // Races are short, and engines take what was timed before: somebody waits.
  std::function<bool()> is_urgent = [] { return false; };
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

class EngineProber : public PlanProber {
 public:
  // All outlive this; `metric` null: the target is none. Throws usage_error for a metric whose output the
  // model does not have, bad_input for labels of other data.
  EngineProber(const Model& model, const UnitPlans& plans, const TuningData& data, TaskMetric* metric,
               EngineProberOptions options);

  const std::vector<SearchUnit>& units() const override { return plans_.units(); }
  bool starts_declared() const override { return !plans_.start().has_value(); }
  UnitTimes times() override;
  std::optional<PlanScore> score(const TypeAssignment& types, DataPart part) override;
  std::vector<RacedPlan> race(const std::vector<CandidatePlan>& plans) override;

 private:
  // The engine of a plan, for samples of any size that the data have.
  std::shared_ptr<const Engine> quick_engine(const TypeAssignment& types) const;
  std::shared_ptr<const Engine> tuned_engine(const CandidatePlan& types) const;
  BuildOptions build_options(const CandidatePlan& types) const;
  // The tuned engine of a plan, which gets its scores.
  std::unique_ptr<EngineRunner> judged(RacedPlan& plan, std::shared_ptr<const Engine> engine);
  // Null for a plan that gets no engine, which says why.
  std::unique_ptr<EngineRunner> judged_or_refused(RacedPlan& plan);
  bool time_units(ElementType type, UnitTimes& times);
  const NamedData& expected(size_t sample);
  void expect_all();
  // `early`: at the first sample beyond the limit the rest is left out. Nothing if there was no time.
  std::optional<PlanScore> score(Session& session, DataPart part, bool early);
  void add_metric(PlanScore& score, const std::vector<size_t>& samples,
                  const std::vector<NamedData>& outputs);

  const Model& model_;
  const UnitPlans& plans_;
  const TuningData& data_;
  TaskMetric* metric_;
  EngineProberOptions options_;
  ReferenceRunner reference_;
  std::vector<std::optional<NamedData>> expected_;  // by sample
  std::vector<Label> labels_;                       // by sample
};

}  // namespace vernier
