// Reports what a search over precision plans found, as text and as JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vernier {

struct TuneReport {
  // Scores one part of the data.
  struct Score {
    double error = 0, deviation = 0;  // relative L2; in the unit of the target
    std::optional<double> metric;     // in points
    size_t samples = 0, beyond = 0;   // that were run, and of these beyond the limit
    bool holds = false;
  };
  struct Point {
    std::string plan;                                     // its file; "declared"
    std::string types;                                    // of the parts that were searched: "bf16 19, f32 2"
    double latency_ms = 0, ratio = 1, low = 1, high = 1;  // times the latency of the baseline; 95 %
    Score selection, held_out;
    std::string failure;  // why there is no engine
  };
  struct Confirmation {
    Score held_out;
    double share_beyond_at_most = 1;  // with a probability of 95 %, where samples are judged alone
    std::optional<std::pair<double, double>> loss_ci95;  // points lost, where the metric is a mean over rows
  };
  struct Sensitivity {
    std::vector<std::string> nodes;
    std::string type;
    double gain_ms = 0, error = 0;
  };

  std::string model;
  std::map<std::string, std::string> options, environment;
  std::string target;  // "relative L2 at most 0.001"
  std::string unit;    // of deviations: "relative L2", "of what is allowed", "points lost"
  double limit = 0;
  std::vector<Point> front;      // the fastest first
  std::vector<Point> dominated;  // raced, too
  Point baseline;
  std::optional<Point> chosen, closest;  // closest: where no plan keeps the target
  std::optional<Confirmation> confirmed;
  std::vector<Sensitivity> sensitivities;  // the largest gain first
  std::vector<std::string> notes;
  size_t units = 0, probes = 0, remembered = 0;
  double seconds = 0;
  bool finished = true, interrupted = false;
};

std::string tune_text(const TuneReport& report, bool detailed);
// Schema "vernier-tune", version 1.
std::string tune_json(const TuneReport& report);

}  // namespace vernier
