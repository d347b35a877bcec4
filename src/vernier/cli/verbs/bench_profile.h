// Measures what `bench` tells beside latency.
#pragma once

#include "vernier/engine/session.h"
#include "vernier/report/bench_report.h"

namespace vernier {

// The time of each step, against the roofline of this machine.
void add_profile(BenchReport& report, Session& session, const NamedData& inputs);
void add_memory(BenchReport& report, const Plan& plan);

}  // namespace vernier
