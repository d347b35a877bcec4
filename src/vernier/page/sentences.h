// A report in one sentence.
#pragma once

#include <string>

#include "vernier/report/bench_report.h"
#include "vernier/report/build_report.h"
#include "vernier/report/evaluation_report.h"
#include "vernier/report/precision/tune_report.h"
#include "vernier/report/report.h"

namespace vernier {

std::string sentence_of(const Report& report);
std::string sentence_of(const BuildReport& report);
std::string sentence_of(const BenchReport& report);
std::string sentence_of(const TuneReport& report);
std::string sentence_of(const EvaluationReport& report);

}  // namespace vernier
