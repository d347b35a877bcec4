#include "vernier/bench/profile.h"

#include <chrono>

#include "vernier/bench/statistics.h"
#include "vernier/engine/describe.h"
#include "vernier/engine/engine_device.h"
#include "vernier/exec/bind_inputs.h"

namespace vernier {

namespace {

double milliseconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Observes steps of a plan that have no kernel there.
struct WhenRun {
  std::string by;  // see Observer; empty: the reference computed them
  int64_t by_reference = 0;
};

StepTime describe(const Plan& plan, const Step& step, const WhenRun& when_run) {
  StepTime result;
  if (plan.devices[static_cast<size_t>(step.device)]->host_visible()) result.work = work_of(plan, step);
  if (step.is_settled())
    result.kernel = kernel_name(plan, step);
  else if (!step.node->regions.empty())
    result.kernel = step.reason;
  else
    result.kernel = when_run.by.empty() ? "reference: " + step.reason : when_run.by + " (made when it runs)";
  if (step.node != nullptr) {
    result.nodes.assign(step.node->provenance.begin(), step.node->provenance.end());
    if (result.nodes.empty()) result.nodes.push_back(step.node->name);
  }
  return result;
}

// Adds up the times of steps in regions, trip by trip: of each step around them and run.
class TimesInside {
 public:
  void add(const ObservedStep& seen, const WhenRun& when_run, double milliseconds) {
    if (!seen.step().is_settled() && !seen.step().node->regions.empty()) return;  // its steps are told
    StepTime step = describe(seen.plan(), seen.step(), when_run);
    const std::string key = fmt::format("{} {}", step.kernel, fmt::join(step.nodes, " "));
    const auto [found, is_new] = places_.try_emplace(key, steps_.size());
    if (is_new) {
      steps_.push_back(std::move(step));
      runs_.emplace_back();
    }
    now_.resize(steps_.size());
    now_[found->second] += milliseconds;
  }
  void end_run() {
    for (size_t i = 0; i < steps_.size(); ++i) runs_[i].push_back(now_[i]);
    std::fill(now_.begin(), now_.end(), 0);
  }
  std::vector<StepTime> steps() const {
    auto all = steps_;
    for (size_t i = 0; i < all.size(); ++i) all[i].milliseconds = summarise(runs_[i]).p50;
    return all;
  }

 private:
  std::map<std::string, size_t> places_;
  std::vector<StepTime> steps_;
  std::vector<double> now_;
  std::vector<std::vector<double>> runs_;
};

}  // namespace

Profile profile(Session& session, const NamedData& inputs, size_t runs) {
  Profile result;
  std::vector<std::vector<double>> times, fallbacks;
  std::vector<TimesInside> inside;
  std::vector<double> watched, unwatched;
  const auto plan = session.plan_with_graph(inputs);
  size_t at = 0;
  WhenRun when_run;
  Observer observer;
  observer.made_when_run = [&](const Step&, std::string_view by, int64_t nanoseconds) {
    when_run.by = by;
    if (by.empty()) when_run.by_reference += nanoseconds;
  };
  observer.after_inside = [&](const ObservedStep& seen, int64_t nanoseconds) {
    inside.resize(std::max(inside.size(), at + 1));
    inside[at].add(seen, when_run, static_cast<double>(nanoseconds) * 1e-6);
    when_run.by.clear();
  };
  observer.after = [&](const ObservedStep& seen, int64_t nanoseconds) {
    if (at == result.steps.size()) {
      result.steps.push_back(describe(*plan, seen.step(), when_run));
      times.emplace_back();
      fallbacks.emplace_back();
    }
    inside.resize(std::max(inside.size(), at + 1));
    inside[at].end_run();
    fallbacks[at].push_back(static_cast<double>(when_run.by_reference) * 1e-6);
    times[at++].push_back(static_cast<double>(nanoseconds) * 1e-6);
    when_run = {};
  };
  const auto bound = in_host_memory(session.engine(), bind_inputs(*plan->graph, inputs));
  std::vector<Datum> outputs;
  session.run(bound, outputs, {});
  for (size_t run = 0; run < runs; ++run) {
    unwatched.push_back(milliseconds_of([&] { session.run(bound, outputs, {}); }));
    at = 0;
    watched.push_back(milliseconds_of([&] { session.run(bound, outputs, {.observer = &observer}); }));
  }
  for (size_t i = 0; i < times.size(); ++i) {
    result.steps[i].milliseconds = summarise(times[i]).p50;
    result.steps[i].fallback_ms = summarise(fallbacks[i]).p50;
    result.steps[i].inside = inside[i].steps();
  }
  result.watched_ms = summarise(watched).p50;
  result.unwatched_ms = summarise(unwatched).p50;
  return result;
}

FallbackTime fallback_time(Session& session, const NamedData& inputs) {
  constexpr int kRuns = 3;
  FallbackTime result;
  const auto plan = session.plan_with_graph(inputs);
  if (std::all_of(plan->steps.begin(), plan->steps.end(), [](const Step& step) { return step.is_settled(); }))
    return result;
  int64_t by_reference = 0, all = 0;
  std::set<const Step*> steps;
  Observer observer;
  observer.made_when_run = [&](const Step& step, std::string_view by, int64_t nanoseconds) {
    if (!by.empty()) return;
    by_reference += nanoseconds;
    steps.insert(&step);
  };
  observer.after = [&](const ObservedStep& seen, int64_t nanoseconds) {
    all += nanoseconds;
    if (const Step& step = seen.step(); !step.is_settled())
      result.without_kernel[&step] += static_cast<double>(nanoseconds) * 1e-6 / kRuns;
  };
  session.run(inputs);  // warm
  for (int run = 0; run < kRuns; ++run) session.run(inputs, &observer);
  result.steps = steps.size();
  result.share = all == 0 ? 0 : static_cast<double>(by_reference) / static_cast<double>(all);
  return result;
}

}  // namespace vernier
