// Writes what a search over precision plans found, as plans in files and as a report.
#pragma once

#include "vernier/report/precision/tune_report.h"
#include "vernier/search/plan_search.h"
#include "vernier/search/target.h"
#include "vernier/search/unit_plans.h"

namespace vernier {

// The file of a plan of the front, beside that of the plan that is chosen: "plan.1.json" for the fastest.
std::string front_file(const std::string& output, size_t index);

class TuneOutcome {
 public:
  // `output` is the file for the plan that is chosen, beside which those of the front go; `first` is what the
  // plan is called that the search began with. Target and plans outlive this.
  TuneOutcome(const TuneTarget& target, std::string output, std::string first, const UnitPlans& plans);

  // Writes the plans and adds to the report.
  void add(const SearchResult& result, TuneReport& report);

 private:
  // By unit and type: what is known of it alone.
  using Reasons = std::vector<std::map<ElementType, std::string>>;

  TuneReport::Point point_of(const RacedPlan& raced, const std::string& file) const;
  TuneReport::Confirmation confirmation_of(const PlanScore& held_out) const;
  std::string text_of(const RacedPlan& raced) const;
  void find_reasons(const SearchResult& result);

  const TuneTarget& target_;
  std::string output_, first_;
  const UnitPlans& plans_;
  Reasons reasons_;
};

}  // namespace vernier
