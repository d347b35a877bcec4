#include "vernier/cli/verbs/evaluation_outcome.h"

#include "vernier/base/file.h"
#include "vernier/cli/page_writer.h"
#include "vernier/evaluate/outcome.h"
#include "vernier/evaluate/score_file.h"
#include "vernier/page/sentences.h"
#include "vernier/report/evaluation_report.h"

namespace vernier {

OwnedMetrics::OwnedMetrics(const std::vector<MetricOptions>& options) {
  for (const MetricOptions& each : options) all.push_back(owned.emplace_back(make_task_metric(each)).get());
}

int finish_evaluation(const EvaluationPart& whole, const OwnedMetrics& metrics, const EvaluationFiles& files,
                      const CommonOptions& common, const std::string& graph) {
  const EvaluationReport report{whole.subject, whole.environment, conclude(whole, metrics.all)};
  const bool is_judged = report.outcome.is_judged();
  const Verdict verdict = report.outcome.verdict();
  say(common, evaluation_text(report, common.verbosity > 0 ? SIZE_MAX : 10));
  if (!common.json.empty()) write_file(common.json, evaluation_json(report));
  if (!files.scores.empty()) write_scores(files.scores, whole);
  if (!files.page.html.empty())
    write_page(files.page, {.verdict = is_judged ? std::string(verdict_name(verdict)) : "",
                            .sentence = sentence_of(report),
                            .report = evaluation_json(report),
                            .graph = graph});
  return verdict == Verdict::kPass ? 0 : 1;
}

}  // namespace vernier
