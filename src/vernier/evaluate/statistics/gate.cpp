#include "vernier/evaluate/statistics/gate.h"

#include <cmath>

#include "vernier/evaluate/statistics/normal.h"

namespace vernier {

namespace {

constexpr double kMostRows = 1e9;  // that anybody would be told to find

// Rows of the same kind with which Tango's test tells the drop from the limit.
std::optional<double> rows_needed(const PairedCounts& counts, double limit, double level) {
  const double wanted = -normal_quantile(level);
  const auto tells = [&](double rows) {
    const double more = rows / counts.rows;
    return std::abs(tango_score({rows, counts.lost * more, counts.gained * more}, limit)) >= wanted;
  };
  double high = counts.rows;
  while (!tells(high)) {
    high *= 2;
    if (high > kMostRows) return std::nullopt;
  }
  double low = high / 2;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (tells(middle) ? high : low) = middle;
  }
  return std::ceil(high);
}

}  // namespace

GateEvidence evidence_of(const PairedCounts& counts, double limit, double level) {
  GateEvidence evidence;
  if (!(counts.rows > 0)) {
    evidence.doubt = "there are no rows";
    return evidence;
  }
  const double score = tango_score(counts, limit);
  evidence.drop = counts.drop();
  evidence.p_below = normal_cdf(score);
  evidence.p_above = normal_cdf(-score);
  evidence.bound = tango_interval(counts, 2 * kConfidence - 1).high;
  evidence.rows_needed = rows_needed(counts, limit, level);
  return evidence;
}

GateEvidence evidence_of(const Bootstrap& drop, size_t rows, double limit, double level) {
  GateEvidence evidence;
  evidence.drop = drop.value();
  evidence.bound = drop.quantile(kConfidence);
  const double below = drop.confidence_below(limit);
  evidence.p_below = 1 - below;
  evidence.p_above = below;
  // The error of a mean falls with the root of the rows.
  const double distance = limit - drop.value(),
               reach = drop.quantile(distance > 0 ? 1 - level : level) - drop.value();
  const double needed = std::ceil(static_cast<double>(rows) * std::pow(reach / distance, 2));
  if (needed <= kMostRows) evidence.rows_needed = std::max(needed, static_cast<double>(kFewestBootstrapRows));
  if (rows < kFewestBootstrapRows) {
    evidence.doubt = "resampling so few rows tells nothing";
    evidence.p_below = evidence.p_above = 1;
  }
  return evidence;
}

Verdict verdict_of(const GateEvidence& evidence, double p_adjusted) {
  constexpr double kLevel = 1 - kConfidence;
  if (!evidence.doubt.empty()) return Verdict::kMistrusted;
  if (p_adjusted <= kLevel) return Verdict::kPass;
  return evidence.p_above <= kLevel ? Verdict::kFail : Verdict::kMistrusted;
}

}  // namespace vernier
