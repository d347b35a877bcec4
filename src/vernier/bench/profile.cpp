#include "vernier/bench/profile.h"

#include <chrono>

#include "vernier/bench/statistics.h"
#include "vernier/exec/bind_inputs.h"

namespace vernier {

namespace {

double milliseconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

StepTime describe(const Plan& plan, const Step& step) {
  StepTime result;
  result.work = work_of(plan, step);
  result.fallback = step.kernel == nullptr;
  result.kernel = step.kernel ? step.kernel->name : "reference: " + step.reason;
  if (step.node != nullptr) {
    result.nodes.assign(step.node->provenance.begin(), step.node->provenance.end());
    if (result.nodes.empty()) result.nodes.push_back(step.node->name);
  }
  return result;
}

}  // namespace

Profile profile(Session& session, const NamedData& inputs, size_t runs) {
  Profile result;
  std::vector<std::vector<double>> times;
  std::vector<double> watched, unwatched;
  const auto plan = session.plan(inputs);
  size_t at = 0;
  StepObserver observer;
  observer.timed = [&](const Step& step, int64_t nanoseconds) {
    if (at == result.steps.size()) {
      result.steps.push_back(describe(*plan, step));
      times.emplace_back();
    }
    times[at++].push_back(static_cast<double>(nanoseconds) * 1e-6);
  };
  const auto bound = bind_inputs(*plan->graph, inputs);
  std::vector<Datum> outputs;
  session.run(bound, outputs, {});
  for (size_t run = 0; run < runs; ++run) {
    unwatched.push_back(milliseconds_of([&] { session.run(bound, outputs, {}); }));
    at = 0;
    watched.push_back(milliseconds_of([&] { session.run(bound, outputs, {.observer = &observer}); }));
  }
  for (size_t i = 0; i < times.size(); ++i) result.steps[i].milliseconds = summarise(times[i]).p50;
  result.watched_ms = summarise(watched).p50;
  result.unwatched_ms = summarise(unwatched).p50;
  return result;
}

FallbackTime fallback_time(Session& session, const NamedData& inputs) {
  constexpr int kRuns = 3;
  FallbackTime result;
  const auto plan = session.plan(inputs);
  for (const Step& step : plan->steps) result.steps += step.kernel == nullptr ? 1 : 0;
  if (result.steps == 0) return result;
  int64_t fallback = 0, all = 0;
  StepObserver observer;
  observer.timed = [&](const Step& step, int64_t nanoseconds) {
    all += nanoseconds;
    if (step.kernel == nullptr) fallback += nanoseconds;
  };
  session.run(inputs);  // warm
  for (int run = 0; run < kRuns; ++run) session.run(inputs, &observer);
  result.share = all == 0 ? 0 : static_cast<double>(fallback) / static_cast<double>(all);
  return result;
}

}  // namespace vernier
