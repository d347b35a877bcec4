// Remembers what was probed, in a file, so that a search that ended early goes on where it was.
#pragma once

#include <chrono>
#include <filesystem>

#include "vernier/search/prober.h"

namespace vernier {

class ProbeMemory : public PlanProber {
 public:
  // `subject` tells what all scores depend on: model, data, target, machine. Throws bad_input, naming the
  // file, where it is damaged or of another subject. An empty path: nothing is read or written. The prober
  // outlives this.
  ProbeMemory(PlanProber& prober, std::filesystem::path file, std::string subject);

  const std::vector<SearchUnit>& units() const override { return prober_.units(); }
  bool starts_declared() const override { return prober_.starts_declared(); }
  UnitTimes times() override;
  std::optional<PlanScore> score(const TypeAssignment& types, DataPart part) override;
  // Is never remembered: times are those of now.
  std::vector<RacedPlan> race(const std::vector<CandidatePlan>& plans) override;

  // To the file. Also done about once a second, and before races.
  void save();
  // Scores that were there already.
  size_t remembered() const { return remembered_; }

 private:
  void load();
  bool has_all_times() const;

  PlanProber& prober_;
  std::filesystem::path file_;
  std::string subject_;
  std::map<std::string, PlanScore> scores_;
  UnitTimes times_;
  size_t remembered_ = 0;
  bool changed_ = false;
  std::chrono::steady_clock::time_point saved_ = std::chrono::steady_clock::now();
};

}  // namespace vernier
