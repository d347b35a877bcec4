// Reports what `evaluate` found, as text and as JSON.
#pragma once

#include "vernier/evaluate/outcome.h"

namespace vernier {

struct EvaluationReport {
  EvaluationSubject subject;
  std::map<std::string, std::string> environment;
  EvaluationOutcome outcome;
};

std::string evaluation_text(const EvaluationReport& report, size_t max_changes);
// Schema "vernier-evaluation", version 1; docs/evaluate.md. Nothing in it depends on time.
std::string evaluation_json(const EvaluationReport& report);

}  // namespace vernier
