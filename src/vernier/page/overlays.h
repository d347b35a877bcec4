// Reports in the formats of other tools that draw networks and times.
#pragma once

#include <string>

#include "vernier/report/bench_report.h"
#include "vernier/report/report.h"

namespace vernier {

// Node data of Model Explorer for the graph of that name: of each value the largest relative L2 of all
// comparisons, coloured on a log scale.
std::string node_data_json(const Report& report, const std::string& graph);
// The same with the milliseconds of each node; a step's are shared out among its nodes.
std::string node_data_json(const BenchReport& report, const std::string& graph);
// The steps of a run one after the other, in the format of Chrome's tracing, which Perfetto reads.
std::string chrome_trace_json(const BenchReport& report);

}  // namespace vernier
