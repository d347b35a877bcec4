// Times as a benchmark reports them.
#pragma once

#include "vernier/report/bench_report.h"

namespace vernier {

BenchReport::Latency in_milliseconds(const std::vector<double>& seconds);

}  // namespace vernier
