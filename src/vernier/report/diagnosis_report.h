// The report on a diagnosis: the sentence that the user needs, then tables, then the evidence
// (docs/diagnosis.md).
#pragma once

#include <map>
#include <string>

#include "vernier/diagnose/diagnosis.h"

namespace vernier {

struct DiagnosisReport {
  std::map<std::string, std::string> options, environment;
  Diagnosis diagnosis;
};

// `detailed`: with options, environment and every rejected cause.
std::string diagnosis_text(const DiagnosisReport& report, bool detailed);
// Schema "vernier-diagnosis", version 1. NaN and Inf are the strings "nan", "inf" and "-inf".
std::string diagnosis_json(const DiagnosisReport& report);

}  // namespace vernier
