#include "vernier/search/plan_search.h"

#include <algorithm>

#include "vernier/search/front.h"

namespace vernier {

namespace {

// Errors may cancel: what is predicted to be this many times beyond the limit is not tried, one unit alone or
// several together.
constexpr double kHopelessOne = 1.5, kHopelessBlock = 4;
// Where a tuned engine or held-out data refuse what was found: how often the search is repeated with less
// room, and with what part of it: of the room that there was, or of what would have done.
constexpr size_t kRounds = 2;
constexpr double kTighter = 0.5, kTightest = 0.1, kCautious = 0.9;
// A plan that takes so much of the time of the first one, or more, is not worth a longer race.
constexpr double kWorthTiming = 0.99;
// Plans that are raced where no time is left.
constexpr size_t kRacedInHaste = 2;

}  // namespace

PlanSearch::PlanSearch(PlanProber& prober, SearchOptions options)
    : prober_(prober), options_(std::move(options)), limit_(options_.limit), current_(declared()) {}

TypeAssignment PlanSearch::declared() const {
  return TypeAssignment(prober_.units().size(), ElementType::kFloat);
}

bool PlanSearch::is_over() {
  if (!options_.is_over()) return false;
  result_.finished = false;
  return true;
}

std::optional<PlanScore> PlanSearch::score(const TypeAssignment& types, DataPart part) {
  const auto key = std::pair(types, part);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (is_over()) return std::nullopt;
  auto scored = prober_.score(types, part);
  if (!scored) {
    result_.finished = false;
    return scored;
  }
  ++result_.probes;
  return known_.emplace(key, std::move(*scored)).first->second;
}

bool PlanSearch::holds(const TypeAssignment& types) {
  const auto scored = score(types);
  return scored && scored->holds(limit_);
}

TypeAssignment PlanSearch::uniform(ElementType type) const {
  TypeAssignment types = declared();
  for (size_t i = 0; i < types.size(); ++i) {
    const auto& may = prober_.units()[i].types;
    if (std::find(may.begin(), may.end(), type) != may.end()) types[i] = type;
  }
  return types;
}

TypeAssignment PlanSearch::fastest() const {
  TypeAssignment types = declared();
  for (size_t i = 0; i < types.size(); ++i) {
    double most = 0;
    for (const ElementType type : prober_.units()[i].types) {
      const double gained = gain_of(result_.times, i, type);
      if (gained > most) most = gained, types[i] = type;
    }
  }
  return types;
}

double PlanSearch::gain(const TypeAssignment& types) const {
  double sum = 0;
  for (size_t i = 0; i < types.size(); ++i) sum += gain_of(result_.times, i, types[i]);
  return sum;
}

SearchResult PlanSearch::run() {
  options_.progress("timing engines of one type");
  result_.times = prober_.times();
  is_over();  // then types may be missing
  find();
  race();
  for (size_t round = 0; round < kRounds && is_refused() && !is_over(); ++round) {
    limit_ = tighter();
    find();
    race();
  }
  race_again();
  result_.front = pareto_front(result_.raced);
  result_.chosen = choose(result_.raced, options_.limit);
  return std::move(result_);
}

void PlanSearch::find() {
  current_ = declared();
  applied_.clear();
  refused_.clear();
  uniform_.reset();
  try_uniform();
  const TypeAssignment best = fastest();
  if (best == declared()) return;
  if (holds(best)) {
    current_ = best;
    return;
  }
  if (result_.sensitivities.empty()) screen();
  moves_ = moves_of(result_.sensitivities);
  options_.progress("lowering together");
  add(0, moves_.size());
  exchange();
  if (options_.predicts) try_prediction();
}

void PlanSearch::race() {
  options_.progress("racing");
  std::vector<CandidatePlan> plans = to_race();
  std::erase_if(plans, [&](const CandidatePlan& plan) {
    return plan && std::any_of(result_.raced.begin(), result_.raced.end(),
                               [&](const RacedPlan& each) { return each.types == plan; });
  });
  if (options_.is_over() && plans.size() > kRacedInHaste) plans.resize(kRacedInHaste);
  if (plans.size() < 2 && !result_.raced.empty()) return;
  auto raced = prober_.race(plans);
  if (!result_.raced.empty()) {
    raced.erase(raced.begin());  // the first plan, which is there already
    for (RacedPlan& each : raced) each.latency_ms = each.ratio * result_.raced.front().latency_ms;
  }
  std::move(raced.begin(), raced.end(), std::back_inserter(result_.raced));
}

// Times longer those plans that seem to be faster, but not beyond the noise of timing.
void PlanSearch::race_again() {
  if (choose(result_.raced, options_.limit) != size_t{0} || is_over()) return;
  RacedPlan* best = nullptr;
  for (RacedPlan& each : result_.raced) {
    const bool holds = each.selection.holds(options_.limit) && each.held_out.holds(options_.limit);
    if (holds && each.ratio < kWorthTiming && (best == nullptr || each.ratio < best->ratio)) best = &each;
  }
  if (best == nullptr) return;
  options_.progress("racing again");
  const RacedPlan again = prober_.race({std::nullopt, best->types}).back();
  best->ratio = again.ratio;
  best->ratio_interval = again.ratio_interval;
  best->latency_ms = result_.raced.front().latency_ms * again.ratio;
}

const RacedPlan* PlanSearch::raced_best() const {
  const auto found = std::find_if(result_.raced.begin(), result_.raced.end(), [&](const RacedPlan& plan) {
    return plan.types == CandidatePlan(current_);
  });
  return found == result_.raced.end() ? nullptr : &*found;
}

// Tells whether a plan passed only by chance on the selection, or by the kernels of a quickly built engine.
bool PlanSearch::is_refused() const {
  const RacedPlan* best = raced_best();
  return best != nullptr && best->selection.failure.empty() &&
         !(best->selection.holds(options_.limit) && best->held_out.holds(options_.limit));
}

double PlanSearch::tighter() const {
  const RacedPlan& best = *raced_best();
  const double worst = std::max(best.selection.deviation, best.held_out.deviation);
  const double share = options_.predicts ? kCautious * options_.limit / worst : kTighter;
  return limit_ * std::clamp(share, kTightest, kCautious);
}

// Known early, they are there if time ends early.
void PlanSearch::try_uniform() {
  const auto wide = result_.times.whole.find(ElementType::kFloat);
  if (wide == result_.times.whole.end()) return;
  std::vector<std::pair<double, ElementType>> faster;
  for (const auto& [type, time] : result_.times.whole) {
    if (type != ElementType::kFloat && time < wide->second) faster.emplace_back(time, type);
  }
  std::sort(faster.begin(), faster.end());
  for (const auto& [time, type] : faster) {
    options_.progress(fmt::format("all {}", element_type_short_name(type)));
    if (!holds(uniform(type))) continue;
    uniform_ = type;
    return;
  }
}

void PlanSearch::screen() {
  for (size_t unit = 0; unit < prober_.units().size(); ++unit) {
    for (const ElementType type : prober_.units()[unit].types) {
      const double gained = gain_of(result_.times, unit, type);
      if (gained > 0) result_.sensitivities.push_back({unit, type, gained, 0});
    }
  }
  auto& list = result_.sensitivities;
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.gain_ms > b.gain_ms; });
  for (size_t i = 0; i < list.size(); ++i) {
    options_.progress(fmt::format("sensitivity {} of {}", i + 1, list.size()));
    TypeAssignment alone = declared();
    alone[list[i].unit] = list[i].type;
    const auto scored = score(alone, DataPart::kScreening);
    if (!scored) {
      list.resize(i);  // what would have gained most is known
      return;
    }
    list[i].error = scored->failure.empty() ? scored->error : std::numeric_limits<double>::infinity();
  }
}

double PlanSearch::predicted_square(const TypeAssignment& types) const {
  double sum = 0;
  for (const UnitSensitivity& each : result_.sensitivities) {
    if (types[each.unit] == each.type) sum += each.error * each.error;
  }
  return sum;
}

void PlanSearch::apply(const TypeMove& move) {
  current_[move.unit] = move.to;
  applied_.push_back(move);
}

// Lowers what can be lowered of moves [first, last) on top of what is lowered already.
void PlanSearch::add(size_t first, size_t last) {
  TypeAssignment types = current_;
  std::vector<TypeMove> made;
  for (size_t i = first; i < last; ++i) {
    if (types[moves_[i].unit] != moves_[i].from) continue;  // the stop before it was refused
    types[moves_[i].unit] = moves_[i].to;
    made.push_back(moves_[i]);
  }
  if (made.empty() || is_over()) return;
  const double hopeless = (made.size() == 1 ? kHopelessOne : kHopelessBlock) * limit_;
  const bool tried = !options_.predicts || predicted_square(types) <= hopeless * hopeless;
  if (tried && holds(types)) {
    for (const TypeMove& move : made) apply(move);
    return;
  }
  if (made.size() == 1) {
    refused_.push_back(made.front());
    return;
  }
  const size_t middle = first + (last - first) / 2;
  add(first, middle);
  add(middle, last);
}

// The best that was found, safer ones on the way there, plans of one type, and what the search began with.
std::vector<CandidatePlan> PlanSearch::to_race() const {
  std::vector<CandidatePlan> plans{std::nullopt};
  const auto offer = [&](const TypeAssignment& types) {
    const bool is_first = prober_.starts_declared() && types == declared();
    if (plans.size() < options_.most_raced && !is_first &&
        std::find(plans.begin(), plans.end(), CandidatePlan(types)) == plans.end())
      plans.emplace_back(types);
  };
  offer(current_);
  if (uniform_) offer(uniform(*uniform_));
  // Where the held-out data refuse the best, one with less error may pass.
  for (const double share : {0.6, 0.25}) {
    TypeAssignment types = declared();
    for (const TypeMove& move : applied_) {
      if (gain(types) >= share * gain(current_)) break;
      types[move.unit] = move.to;
    }
    if (!applied_.empty()) offer(types);
  }
  if (!prober_.starts_declared()) offer(declared());
  offer(fastest());
  return plans;
}

}  // namespace vernier
