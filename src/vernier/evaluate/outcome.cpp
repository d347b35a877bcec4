#include "vernier/evaluate/outcome.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/error.h"
#include "vernier/base/hash.h"
#include "vernier/evaluate/paired_scores.h"
#include "vernier/evaluate/statistics/holm.h"

namespace vernier {

namespace {

using Outcome = EvaluationOutcome;

Outcome::Metric metric_of(const TaskMetric& metric) {
  using enum TaskMetric::Kind;
  const bool hits = metric.kind() == kHits;
  Outcome::Metric result;
  result.name = metric.name();
  result.unit = metric.unit();
  result.kind = hits ? "hits" : metric.kind() == kMean ? "mean" : "pooled";
  result.description = metric.description();
  result.higher_is_better = metric.higher_is_better();
  result.intervals = hits ? "Wilson; of differences Tango" : "bootstrap over rows (BCa, 10000 draws)";
  result.test = hits ? "McNemar, exact" : "paired bootstrap";
  return result;
}

// Without a sign where it is zero.
ConfidenceInterval negated(const ConfidenceInterval& interval) {
  return {0 - interval.high, 0 - interval.low};
}

std::string sentence_of(const Outcome::Gate& gate, const std::string& unit) {
  const auto figure = [&](double value) {
    return fmt::format("{:.4g}{}", value, unit.empty() ? "" : " " + unit);
  };
  if (gate.verdict == Verdict::kPass)
    return fmt::format("the drop is below {} with 95 % confidence", figure(gate.limit));
  if (gate.verdict == Verdict::kFail)
    return fmt::format("the drop is above {} with 95 % confidence", figure(gate.limit));
  const std::string needed = !gate.evidence.rows_needed ? "no number of samples would tell it from the limit"
                                                        : fmt::format("{:.0f} samples like these would do",
                                                                      *gate.evidence.rows_needed);
  const std::string why = gate.evidence.doubt.empty() ? "the samples do not tell" : gate.evidence.doubt;
  return fmt::format("{} whether the drop is below {}: {}", why, figure(gate.limit), needed);
}

class Conclusion {
 public:
  Conclusion(const EvaluationPart& whole, const std::vector<TaskMetric*>& metrics)
      : whole_(whole), metrics_(metrics) {}

  Outcome outcome() {
    outcome_.samples = whole_.samples;
    for (const SampleScores& sample : whole_.scores)
      outcome_.inputs_hash = hash_combine(outcome_.inputs_hash, sample.inputs_hash);
    for (const TaskMetric* metric : metrics_) outcome_.metrics.push_back(metric_of(*metric));
    for (size_t runner = 0; runner < whole_.subject.runners.size(); ++runner) add_runner(runner);
    for (size_t runner = 0; runner < whole_.subject.runners.size(); ++runner) {
      const bool failed = outcome_.runners[runner].failures > 0;
      if (runner == whole_.subject.against || failed) continue;
      for (size_t metric = 0; metric < metrics_.size(); ++metric) add_difference(runner, metric);
    }
    adjust();
    return std::move(outcome_);
  }

 private:
  BootstrapOptions bootstrap_options() const { return {.seed = whole_.subject.seed}; }

  PairedScores rows_of(size_t runner, size_t metric) const {
    PairedScores rows(whole_, metric, whole_.subject.against, runner);
    if (!metrics_[metric]->takes(rows.baseline) || !metrics_[metric]->takes(rows.runner))
      throw bad_input("the scores are none of --metric {}", metrics_[metric]->name());
    return rows;
  }

  void add_runner(size_t runner) {
    Outcome::RunnerValues& values = outcome_.runners.emplace_back();
    values.name = whole_.subject.runners[runner].name;
    for (const SampleScores& sample : whole_.scores) {
      if (sample.failures[runner].empty()) continue;
      if (values.failures++ == 0) values.failure = sample.failures[runner];
    }
    if (values.failures > 0) return;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      const PairedScores scores = rows_of(runner, m);
      const RowScores& rows = scores.runner;
      const TaskMetric& metric = *metrics_[m];
      Outcome::Value& value = values.values.emplace_back();
      value.metric = m;
      value.rows = rows.size();
      value.value = metric.value(rows);
      value.ci95 = metric.kind() == TaskMetric::Kind::kHits
                       ? wilson_interval(value.value * static_cast<double>(rows.size()),
                                         static_cast<double>(rows.size()), kConfidence)
                       : Bootstrap(rows.size(), metric.over(rows), bootstrap_options()).interval(kConfidence);
    }
  }

  std::optional<double> limit_of(const std::string& metric) const {
    for (const auto& gate : whole_.subject.gates) {
      if (gate.metric == metric) return gate.drop;
    }
    return std::nullopt;
  }

  void add_difference(size_t runner, size_t m) {
    const TaskMetric& metric = *metrics_[m];
    const PairedScores rows = rows_of(runner, m);
    Outcome::Difference& result = outcome_.differences.emplace_back();
    result.runner = outcome_.runners[runner].name;
    result.baseline = outcome_.runners[whole_.subject.against].name;
    result.metric = m;
    const auto limit = limit_of(metric.name());
    if (limit) {
      result.gate = Outcome::Gate{};
      result.gate->limit = *limit;
    }
    // One of several that are judged must be surer.
    const double level = (1 - kConfidence) / static_cast<double>(std::max<size_t>(1, gate_count()));
    if (metric.kind() == TaskMetric::Kind::kHits)
      judge_hits(rows, level, result);
    else
      judge_scores(rows, metric, level, result);
    result.changes = rows.changes(metric.higher_is_better(), result.lost, result.gained);
  }

  size_t gate_count() const { return whole_.subject.gates.size() * (whole_.subject.runners.size() - 1); }

  static void judge_hits(const PairedScores& rows, double level, Outcome::Difference& result) {
    const PairedCounts counts = rows.counts();
    result.difference = (counts.gained - counts.lost) / counts.rows;
    result.ci95 = negated(tango_interval(counts, kConfidence));
    result.p = mcnemar_exact(static_cast<uint64_t>(counts.lost), static_cast<uint64_t>(counts.gained));
    if (result.gate) result.gate->evidence = evidence_of(counts, result.gate->limit, level);
  }

  void judge_scores(const PairedScores& rows, const TaskMetric& metric, double level,
                    Outcome::Difference& result) const {
    const double before_value = metric.value(rows.baseline), after_value = metric.value(rows.runner);
    result.difference = after_value - before_value;
    if (std::isnan(result.difference)) {
      result.ci95 = {result.difference, result.difference};
      if (result.gate)
        result.gate->evidence.doubt = "the metric has no value on these samples, so they do not tell";
      return;
    }
    // Resampling tells nothing where all rows are equal: none of a share was lost.
    if (rows.are_equal() && metric.unit().empty()) return judge_hits(rows, level, result);
    const double sign = metric.higher_is_better() ? 1 : -1;
    const RowStatistic before = metric.over(rows.baseline), after = metric.over(rows.runner);
    const Bootstrap drop(
        rows.runner.size(),
        [&](std::span<const uint32_t> counts) { return sign * (before(counts) - after(counts)); },
        bootstrap_options());
    const ConfidenceInterval interval = drop.interval(kConfidence);
    result.ci95 = sign > 0 ? negated(interval) : interval;
    const double above = drop.confidence_below(0);
    result.p = drop.value() == 0 ? 1 : std::min(1.0, 2 * std::min(above, 1 - above));
    if (result.gate) result.gate->evidence = evidence_of(drop, rows.runner.size(), result.gate->limit, level);
  }

  // Holm's correction: of all differences, and of all gates.
  void adjust() {
    std::vector<double> equal, below;
    for (const auto& each : outcome_.differences) {
      equal.push_back(each.p);
      if (each.gate) below.push_back(each.gate->evidence.p_below);
    }
    equal = holm(equal), below = holm(below);
    size_t gate = 0;
    for (size_t i = 0; i < outcome_.differences.size(); ++i) {
      auto& each = outcome_.differences[i];
      each.p_adjusted = equal[i];
      if (!each.gate) continue;
      each.gate->p_adjusted = below[gate++];
      each.gate->verdict = verdict_of(each.gate->evidence, each.gate->p_adjusted);
      each.gate->sentence = sentence_of(*each.gate, outcome_.metrics[each.metric].unit);
    }
    if (below.size() > 1)
      outcome_.notes.push_back(
          fmt::format("{} gates are judged together: their p-values are adjusted (Holm)", below.size()));
  }

  const EvaluationPart& whole_;
  const std::vector<TaskMetric*>& metrics_;
  Outcome outcome_;
};

}  // namespace

bool EvaluationOutcome::is_judged() const {
  const auto has_gate = [](const Difference& each) { return each.gate.has_value(); };
  const auto failed = [](const RunnerValues& each) { return each.failures > 0; };
  return std::any_of(differences.begin(), differences.end(), has_gate) ||
         std::any_of(runners.begin(), runners.end(), failed);
}

Verdict EvaluationOutcome::verdict() const {
  Verdict verdict = Verdict::kPass;
  for (const Difference& each : differences) {
    if (each.gate) verdict = worst(verdict, each.gate->verdict);
  }
  for (const RunnerValues& each : runners) {
    if (each.failures > 0) verdict = Verdict::kFail;
  }
  return verdict;
}

EvaluationOutcome conclude(const EvaluationPart& whole, const std::vector<TaskMetric*>& metrics) {
  return Conclusion(whole, metrics).outcome();
}

}  // namespace vernier
