#include "vernier/cli/verbs/latency.h"

#include "vernier/bench/statistics.h"

namespace vernier {

BenchReport::Latency in_milliseconds(const std::vector<double>& seconds) {
  Summary s = summarise(seconds);
  for (double* value : {&s.p50, &s.p90, &s.p95, &s.p99, &s.mean, &s.min, &s.max}) *value *= 1e3;
  return {s.p50, s.p90, s.p95, s.p99, s.mean, s.min, s.max, seconds.size()};
}

}  // namespace vernier
