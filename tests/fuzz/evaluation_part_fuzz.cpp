#include "target.h"
#include "vernier/evaluate/outcome.h"
#include "vernier/evaluate/part_file.h"

// A partial result, alone the whole: what is read, merged and judged.
VERNIER_FUZZ_TARGET([](auto, auto text) {
  const vernier::EvaluationPart whole = vernier::merge_parts({{"part", vernier::parse_part(text)}});
  std::vector<std::unique_ptr<vernier::TaskMetric>> owned;
  std::vector<vernier::TaskMetric*> metrics;
  for (const auto& options : whole.subject.metrics) {
    if (options.name.ends_with(".py") || options.name == "wer" || options.name == "cer" ||
        options.name.starts_with("coco"))
      return;  // a process for each
    metrics.push_back(owned.emplace_back(vernier::make_task_metric(options)).get());
  }
  vernier::conclude(whole, metrics);
})
