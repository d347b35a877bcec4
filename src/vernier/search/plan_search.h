// The cheapest precision plan that meets a target.
#pragma once

#include <functional>

#include "vernier/search/moves.h"

namespace vernier {

struct SearchOptions {
  double limit = 0;        // of deviations
  bool predicts = true;    // deviations are errors, which add up as squares
  size_t most_raced = 5;   // plans, the one that the search begins with among them
  size_t most_swaps = 16;  // probes of exchanges at the end
  // No further probe begins. What was found so far is raced all the same.
  std::function<bool()> is_over = [] { return false; };
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct SearchResult {
  std::vector<RacedPlan> raced;                // the plan that the search began with is the first
  std::vector<size_t> front;                   // see pareto_front
  std::optional<size_t> chosen;                // see choose
  std::vector<UnitSensitivity> sensitivities;  // none where lowering everything met the target
  UnitTimes times;
  size_t probes = 0;     // scores that were asked for
  bool finished = true;  // false: there was no time for all of it
};

// First plans of one type, and the one of the fastest type of each unit. If that is beyond the limit, each
// unit is lowered alone; then units are lowered together, in the order of gain for error, as long as the
// limit is kept: all of them, else the better half first, and so on, which finds the longest sound prefix and
// then what can be added behind it. At last what was refused is exchanged for what gains less, and
// what errors of parts predict to be best is tried. If a tuned engine or held-out data refuse what was found,
// all that is repeated with a tighter limit.
class PlanSearch {
 public:
  // The prober outlives this.
  PlanSearch(PlanProber& prober, SearchOptions options);
  SearchResult run();

 private:
  bool is_over();
  std::optional<PlanScore> score(const TypeAssignment& types, DataPart part = DataPart::kSelection);
  bool holds(const TypeAssignment& types);
  TypeAssignment declared() const;
  // Every unit in this type that may have it.
  TypeAssignment uniform(ElementType type) const;
  // Each unit in the type that it gains most in.
  TypeAssignment fastest() const;
  double gain(const TypeAssignment& types) const;

  void find();
  void race();
  void race_again();
  // Gives what current_ came to; null if it was not raced.
  const RacedPlan* raced_best() const;
  bool is_refused() const;
  double tighter() const;
  void try_uniform();
  void screen();
  void add(size_t first, size_t last);
  void exchange();
  void try_prediction();
  bool add_alone(const TypeMove& move, size_t& left);
  bool exchange(const TypeMove& refused, size_t& left);
  void apply(const TypeMove& move);
  double predicted_square(const TypeAssignment& types) const;
  std::vector<CandidatePlan> to_race() const;

  PlanProber& prober_;
  SearchOptions options_;
  double limit_;  // of the selection
  SearchResult result_;
  std::map<std::pair<TypeAssignment, DataPart>, PlanScore> known_;
  std::vector<TypeMove> moves_;
  TypeAssignment current_;         // keeps the limit, as far as the selection tells
  std::vector<TypeMove> applied_;  // what made it, in the order of moves_
  std::vector<TypeMove> refused_;
  std::optional<ElementType> uniform_;  // the fastest type that all units can have
};

}  // namespace vernier
