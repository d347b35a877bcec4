#include "vernier/backends/reference/run_limit.h"

#include <algorithm>

#include "vernier/base/error.h"

namespace vernier {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kForever = 1e9;  // seconds; what is longer does not fit a time point
thread_local Clock::time_point end_of_time = Clock::time_point::max();

}  // namespace

RunLimit::RunLimit(double seconds) : before_(end_of_time) {
  if (seconds >= kForever) return;
  const auto length = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  end_of_time = std::min(before_, Clock::now() + length);
}

RunLimit::~RunLimit() {
  end_of_time = before_;
}

bool RunLimit::is_over() {
  return end_of_time != Clock::time_point::max() && Clock::now() >= end_of_time;
}

void RunLimit::check() {
  if (is_over()) throw unsupported("a run of the reference was ended: its time is over");
}

}  // namespace vernier
