#include "vernier/tune/choose_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "vernier/base/hash.h"
#include "vernier/exec/execution.h"
#include "vernier/tune/request_key.h"

namespace vernier {

namespace {

// Less is noise; what is named first stays.
constexpr double kWorthwhile = 0.98;
constexpr PlanCandidate kCandidates[] = {{Layout::kChannelsLast, NearTies::kOwnChoice},
                                         {Layout::kChannelsLast, NearTies::kOthers},
                                         {Layout::kBlocked16, NearTies::kOwnChoice}};

std::string name_of(const PlanCandidate& way) {
  return fmt::format("{}{}", layout_name(way.images),
                     way.near_ties == NearTies::kOthers ? ", near ties to others" : "");
}

bool has_images(const Plan& plan) {
  return std::any_of(plan.slots.begin(), plan.slots.end(),
                     [](const Slot& slot) { return slot.operand.layout != Layout::kPlain; });
}

// Floats at random, everything else zero, which is an index, a token and a mask.
std::vector<Datum> draw_inputs(const Plan& plan) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<Datum> inputs;
  for (const SlotId id : plan.inputs) {
    const Operand& operand = plan.slots[static_cast<size_t>(id)].operand;
    Tensor tensor(operand.element, operand.dims);
    if (operand.element == ElementType::kFloat) {
      for (float& value : tensor.mutable_values<float>()) value = normal(random);
    }
    inputs.emplace_back(std::move(tensor));
  }
  return inputs;
}

bool can_draw(const Plan& plan) {
  return std::all_of(plan.inputs.begin(), plan.inputs.end(),
                     [&](SlotId id) { return plan.slots[static_cast<size_t>(id)].known; });
}

struct TimedPlan {
  TimedPlan(const PlanCandidate& way, std::shared_ptr<const Plan> plan) : way(way), plan(std::move(plan)) {}

  PlanCandidate way;
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<SessionMemory> memory = std::make_unique<SessionMemory>();
  std::unique_ptr<Execution> execution;
  std::vector<double> seconds;
  double shortest() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

double seconds_of(TimedPlan& timed, const std::vector<Datum>& inputs) {
  std::vector<Datum> outputs;
  const auto start = std::chrono::steady_clock::now();
  timed.execution->run(inputs, outputs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Until they have taken the budget. A large model, of which a run of each plan takes that long, has one run
// of each that counts: it drives out of the caches whatever was there, and is not disturbed by much.
void run_in_turn(std::vector<TimedPlan>& plans, const Backend& kernels, int level) {
  constexpr double kBudgets[] = {0, 0, 0.15, 0.4, 0.4, 2};
  constexpr size_t kLeast = 3, kClear = 10, kMost = 400;                     // rounds
  constexpr double kLongest = 4;                                             // budgets
  constexpr double kFarBehind = 1.5, kHopeless = 3, kHopelessWhenCold = 10;  // times as slow
  DynamicShapeExecutor nodes(kernels);
  const auto inputs = draw_inputs(*plans[0].plan);
  double spent = 0;
  for (TimedPlan& each : plans) {
    each.execution = std::make_unique<Execution>(each.plan, nodes, *each.memory);
    each.seconds.push_back(seconds_of(each, inputs));
    spent += each.seconds.back();
  }
  const bool is_large = spent > kBudgets[level];
  const double most = kLongest * kBudgets[level];
  const auto goes_on = [&](size_t round) {
    if (round == 0) return true;
    return round < kMost && spent < most && (round < kLeast || spent < kBudgets[level]);
  };
  for (size_t round = 0; goes_on(round); ++round) {
    double best = HUGE_VAL;
    for (const TimedPlan& each : plans) best = std::min(best, each.shortest());
    // The first runs meet cold caches, so they show less.
    const double limit = best * (is_large         ? kFarBehind
                                 : round == 0     ? kHopelessWhenCold
                                 : round < kClear ? kHopeless
                                                  : kFarBehind);
    size_t left = 0;
    for (TimedPlan& each : plans) {
      if (each.shortest() > limit) continue;
      if (!is_large) spent += seconds_of(each, inputs);  // fetches what the others drove away
      each.seconds.push_back(seconds_of(each, inputs));
      spent += each.seconds.back();
      ++left;
    }
    if (left < 2) return;
  }
}

// Writes down what is computed, in which order and sizes, whatever the weights.
std::string plan_key(const Plan& plan, const TuneOptions& options) {
  uint64_t hash = options.approximate;
  for (const auto* tactics : {&options.without, &options.only}) {
    for (const std::string& tactic : *tactics) hash = hash_combine(hash, hash_text(tactic));
    hash = hash_combine(hash, 0);
  }
  for (const Step& step : plan.steps) {
    if (step.node == nullptr) continue;
    KernelRequest request{*step.node, {}, {}};
    hash = hash_combine(hash, hash_text(request_key(request)));
  }
  for (const SlotId id : plan.inputs)
    hash = hash_combine(hash, hash_text(dims_text(plan.slots[static_cast<size_t>(id)].operand.dims)));
  return "plan " + hash_to_text(hash);
}

}  // namespace

ChosenPlan choose_plan(const std::function<std::shared_ptr<const Plan>(const PlanCandidate& way)>& make,
                       const Backend& kernels, TimingCache& cache, const TuneOptions& options) {
  auto first = make(kCandidates[0]);
  if (options.level < 1 || !can_draw(*first)) return {first, kCandidates[0]};
  const std::string key = plan_key(*first, options);
  if (const auto known = cache.times(key); !known.empty()) {
    const PlanCandidate* best = &kCandidates[0];
    for (const PlanCandidate& way : kCandidates) {
      const auto found = known.find(name_of(way));
      if (found != known.end() && found->second < known.at(name_of(*best)) * kWorthwhile) best = &way;
    }
    return {best == &kCandidates[0] ? first : make(*best), *best};
  }
  if (options.level < 2) return {first, kCandidates[0]};
  std::vector<TimedPlan> plans;
  for (const PlanCandidate& way : kCandidates) {
    if (way.images != kCandidates[0].images && !has_images(*first)) continue;
    auto plan = plans.empty() ? first : make(way);
    if (plans.empty() || plan->choices != first->choices) plans.emplace_back(way, std::move(plan));
  }
  if (plans.size() < 2) return {first, kCandidates[0]};
  try {
    run_in_turn(plans, kernels, std::clamp(options.level, 0, 5));
  } catch (const Error&) {
    return {first, kCandidates[0]};  // zeros may be nothing that the model takes: then there are no times
  }
  TimingCache::Times times;
  const TimedPlan* best = &plans[0];
  for (const TimedPlan& each : plans) {
    times[name_of(each.way)] = each.shortest();
    if (each.shortest() < kWorthwhile * best->shortest()) best = &each;
  }
  cache.put(key, std::move(times));
  return {best->plan, best->way};
}

}  // namespace vernier
