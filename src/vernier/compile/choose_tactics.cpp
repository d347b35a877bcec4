#include "vernier/compile/choose_tactics.h"

#include "vernier/backends/installed/drivers.h"
#include "vernier/base/threads.h"
#include "vernier/compile/shared_forms.h"
#include "vernier/engine/describe.h"
#include "vernier/ir/clone.h"
#include "vernier/tune/choose_plan.h"

namespace vernier {

namespace {

// The plan, among the layouts, in which a tactic that is forced computes most nodes.
ChosenPlan plan_with_most(const std::string& tactic,
                          const std::function<std::shared_ptr<const Plan>(const PlanCandidate&)>& make) {
  ChosenPlan best;
  int64_t most = -1;
  for (const Layout images : {Layout::kChannelsLast, Layout::kBlocked16}) {
    auto plan = make({images});
    const auto count = std::count_if(plan->choices.tactics.begin(), plan->choices.tactics.end(),
                                     [&](const auto& entry) { return entry.second == tactic; });
    if (count <= most) continue;
    most = count;
    best = {std::move(plan), {images}};
  }
  return best;
}

// The results of trials under these near ties are kept, and of all trials which tactics there were.
void keep(const std::vector<TuneResult>& results, NearTies near_ties, Tuning& tuning) {
  for (const TuneResult& each : results) {
    for (const auto& [tactic, record] : each.records) {
      if (!tactic.empty()) tuning.offered.insert(tactic);
    }
    if (each.near_ties == near_ties) tuning.results.push_back(each);
  }
}

}  // namespace

TuneOptions tuner_options(TuneOptions options) {
  if (!options.approximate) options.without.merge(host_driver().approximate_tactics());
  return options;
}

PlanChoices choose_tactics(Planner& planner, const Graph& specialised,
                           const std::vector<PreparedPlan>& prepared, Tuning& tuning) {
  const BuildOptions& build = planner.options();
  const EngineKernels& own = planner.kernels();
  TuneOptions options = tuner_options(build.tune);
  constexpr int kTrying = 2;  // the first level that does
  if (!options.forced.empty()) options.level = std::max(options.level, kTrying);
  if (options.level == 0) return {};
  const auto cache = build.timing_cache ? build.timing_cache : std::make_shared<TimingCache>(timing_device());
  // A fault is not to be found here, since the tactic would not be used; but for one that stops the process.
  const auto sound = host_driver().make();
  const bool stops = build.fault && stops_process(build.fault->kind);
  const Backend& kernels = stops ? static_cast<const Backend&>(own.host()) : *sound;
  const ObeyingKernels obeying(kernels, planner.content().precision, planner.content().nodes);
  const bool obeys = build.precision.constraints == PrecisionConstraints::kObey;
  const Backend& steered = obeys ? obeying : kernels;
  const ThreadInvariantKernels invariant(steered, thread_count);
  const Backend& tried = build.deterministic ? static_cast<const Backend&>(invariant) : steered;
  Tuner tuner(tried, *cache, options, constant_bytes(specialised));
  std::map<const Backend*, Tuner> of_devices;
  for (const EngineKernels::Accelerator& each : own.accelerators()) {
    const Backend& backend = each.steered();
    of_devices.try_emplace(&backend, each.sound ? *each.sound : backend, *cache, options, 0,
                           each.fingerprint);
  }
  PackedConstants packed;  // what is tried is not kept
  SharedForms forms(tried, planner.packed());
  for (const PreparedPlan& each : prepared) forms.add(*each.plan);
  const auto admits = [&](const KernelRequest& request) -> Tuner::Admits {
    if (prepared.empty()) return nullptr;
    return [&](const std::string& tactic) { return forms.suffice(request, tactic); };
  };
  const auto make = [&](const PlanCandidate& way) {
    const auto choose = [&](const KernelRequest& request, const Backend& backend) {
      const auto device = of_devices.find(&backend);
      return device == of_devices.end() ? tuner.choose(request, way.near_ties, admits(request))
                                        : device->second.choose(request);
    };
    return planner.plan_with(clone(specialised), {way.images, {}}, tried, packed, choose);
  };
  const ChosenPlan chosen =
      !options.forced.empty()                              ? plan_with_most(options.forced, make)
      : build.deterministic || !own.accelerators().empty() ? ChosenPlan{make({}), {}}  // plans are not timed
      : !prepared.empty() ? ChosenPlan{make({prepared.front().plan->choices.images}), {}}
                          : choose_plan(make, steered, *cache, options);
  keep(tuner.results(), chosen.way.near_ties, tuning);
  for (const auto& [backend, device] : of_devices) keep(device.results(), NearTies::kOwnChoice, tuning);
  return chosen.plan->choices;
}

}  // namespace vernier
