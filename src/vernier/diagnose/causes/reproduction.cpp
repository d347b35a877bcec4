#include "vernier/diagnose/causes/reproduction.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/backends/reference/run_limit.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {

namespace {

constexpr double kLeavesLittle = 0.3;  // of the error: what leaves more is no cause
// A simulation is about as much work as the nodes themselves. One that takes so many times as long, and so
// many seconds, as a loop does whose condition never comes true, is given up.
constexpr double kPatience = 50, kLeastSeconds = 5;

// What rounding may do to each element.
std::vector<std::vector<double>> allowances(const Suspect& suspect) {
  std::vector<std::vector<double>> allowed;
  for (const ElementErrors& errors : suspect.expected) {
    auto& each = allowed.emplace_back(errors.error);
    for (double& error : each) error *= kLargestDeviation;
  }
  return allowed;
}

Tensors zeros_like(const Tensors& tensors) {
  Tensors zeros;
  for (const Tensor& tensor : tensors)
    zeros.push_back(tensor.is_defined() ? Tensor(tensor.type(), tensor.dims()) : Tensor());
  return zeros;
}

// The share of elements that are no neighbours of each other.
double unlike_share(const Tensors& made, const Tensors& simulated) {
  constexpr double kNear = 0.01;
  double unlike = 0, all = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!made[i].is_defined() || !is_float(made[i].type()) || made[i].dims() != simulated[i].dims()) continue;
    const auto a = made[i].to_doubles(), b = simulated[i].to_doubles();
    for (size_t k = 0; k < a.size(); ++k) {
      const bool same = a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]));
      if (!same && !(std::abs(a[k] - b[k]) <= kNear * std::max(std::abs(a[k]), std::abs(b[k])))) ++unlike;
    }
    all += static_cast<double>(a.size());
  }
  return all > 0 ? unlike / all : 0;
}

class Trial {
 public:
  Trial(const Suspect& suspect, const Members& members) : suspect_(suspect), members_(members) {
    const Stopwatch watch(std::numeric_limits<double>::infinity());
    sound_ = members.sound_results();
    patience_ = std::max(kLeastSeconds, kPatience * watch.seconds());
    allowed_ = allowances(suspect);
    error_ = bounded_distance(suspect.made, sound_, sound_, allowed_);
    // What has other sizes than it should cannot be compared with that; all of it is the error.
    if (std::isinf(error_)) error_ = bounded_distance(suspect.made, zeros_like(suspect.made), suspect.made);
  }

  // Seconds that a simulation may take.
  double patience() const { return patience_; }

  // What is left of the error if the member makes these results.
  void judge(size_t member, const Tensors& results, Simulated& cause) const {
    const Tensors simulated = members_.results_with(member, results);
    const double left = bounded_distance(suspect_.made, simulated, sound_, allowed_);
    cause.residual = 1;
    if (!(error_ > 0) || !std::isfinite(left)) return;
    // What hardly differs from sound results explains no difference from them, however small that is.
    constexpr double kMoves = 0.5;
    if (bounded_distance(simulated, sound_, sound_, allowed_) < kMoves * error_) return;
    cause.residual = std::min(1.0, left / error_);
    cause.unlike = unlike_share(suspect_.made, simulated);
  }

 private:
  const Suspect& suspect_;
  const Members& members_;
  Tensors sound_;
  std::vector<std::vector<double>> allowed_;
  double error_ = 0;  // of what the engine made
  double patience_ = 0;
};

// Of the values that heal when they are shown, those that the node has nothing to do with.
size_t healing_apart_from(const Node& node, const Scene& scene) {
  std::set<std::string> apart = scene.healing;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      if (value != nullptr) apart.erase(value->name);
    }
  }
  return apart.size();
}

// A family that cannot read the node knows no cause there.
void propose(const Hypothesis& hypothesis, const Member& member, const Suspect& suspect, const Scene& scene,
             std::vector<Proposal>& proposals) {
  try {
    hypothesis.propose(member, suspect, scene, proposals);
  } catch (const Error&) {
    return;
  }
}

// Causes of one family at one member: what a look at some elements finds likely first, as time may be over.
std::vector<Simulated> simulate(const Suspect& suspect, const Scene& scene, const Members& members,
                                size_t number, const Trial& trial, std::vector<Proposal> proposals,
                                const Stopwatch* watch, bool& is_explained) {
  constexpr double kNothingLeft = 0.1;
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Proposal& a, const Proposal& b) { return a.screened < b.screened; });
  std::vector<Simulated> simulated;
  for (const Proposal& proposal : proposals) {
    if (watch != nullptr && watch->is_over()) break;
    if (proposal.is_costly && is_explained) continue;
    Simulated result{proposal.failure, proposal.what, {}, proposal.values, 1};
    if (!proposal.of_whole) result.healing_apart = healing_apart_from(members.all()[number].node(), scene);
    if (proposal.values.empty())
      result.nodes = proposal.of_whole ? suspect.onnx_nodes() : onnx_nodes_of(members.all()[number].node());
    try {
      const RunLimit limit(watch != nullptr ? std::min(trial.patience(), watch->left()) : trial.patience());
      trial.judge(number, proposal.simulate(), result);
      result.residual = std::min(1.0, result.residual + proposal.handicap);
    } catch (const Error&) {
      continue;  // what cannot be computed did not happen
    }
    is_explained = is_explained || result.residual <= kNothingLeft;
    simulated.push_back(std::move(result));
  }
  return simulated;
}

// In the order of the members, and of the library at each, whatever is simulated first.
std::vector<Simulated> simulated_causes(const Suspect& suspect, const Scene& scene, const Stopwatch* watch) {
  const Members members(suspect);
  const Trial trial(suspect, members);
  const auto& families = hypotheses();
  std::vector<std::vector<Simulated>> by_place(members.all().size() * families.size());
  bool is_explained = false;  // nearly all of it
  for (const bool late : {false, true}) {
    for (size_t place = 0; place < by_place.size(); ++place) {
      const size_t member = place / families.size();
      const Hypothesis& family = families[place % families.size()];
      if (family.comes_late != late) continue;
      std::vector<Proposal> proposals;
      propose(family, members.all()[member], suspect, scene, proposals);
      by_place[place] =
          simulate(suspect, scene, members, member, trial, std::move(proposals), watch, is_explained);
    }
  }
  std::vector<Simulated> all;
  for (auto& some : by_place) std::move(some.begin(), some.end(), std::back_inserter(all));
  return all;
}

double confidence_of(const Simulated& best, const std::vector<Simulated>& others) {
  const double margin = others.empty() ? 1 : others.front().residual - best.residual;
  constexpr double kClear = 0.25;
  return (1 - best.residual) * (0.5 + 0.5 * std::min(1.0, margin / kClear));
}

// In steps: what explains nearly as much comes in the order of the library, at the node that most of what is
// fused goes through. What explains everything comes before what leaves something that counts.
void sort_by_residual(std::vector<Simulated>& simulated) {
  const auto step = [](const Simulated& each) {
    constexpr double kAlike = 0.01, kOther = 0.1, kCounts = 1e-3;
    return std::tuple(std::lround(each.residual / kAlike), std::lround(each.unlike / kOther),
                      each.residual > kCounts, each.healing_apart);
  };
  std::stable_sort(simulated.begin(), simulated.end(),
                   [&](const Simulated& a, const Simulated& b) { return step(a) < step(b); });
}

// What is left of the error of both runs, if a cause is the same in the other one. One of the same class may
// be the same with another figure in it, or another of many that fit a few numbers by chance.
double residual_of_both(const Simulated& cause, const std::vector<Simulated>& again) {
  constexpr double kOther = 0.2;
  double least = 1;
  for (const Simulated& other : again) {
    const bool same = other.what == cause.what;  // of another class, perhaps, by what the numbers are
    if ((!same && other.failure != cause.failure) || other.nodes != cause.nodes ||
        other.values != cause.values)
      continue;
    least = std::min(least, std::max(cause.residual, other.residual) + (same ? 0 : kOther));
  }
  return least;
}

}  // namespace

bool is_ambiguous(const Reproduction& reproduction) {
  constexpr double kHardlyMore = 0.03;
  return reproduction.cause && !reproduction.others.empty() &&
         reproduction.others.front().residual <= reproduction.cause->residual + kHardlyMore;
}

void decide_by(const Suspect& other_run, const Scene& scene, const Stopwatch* watch,
               Reproduction& reproduction) {
  std::vector<Simulated> again;
  try {
    again = simulated_causes(other_run, scene, watch);
  } catch (const Error&) {
    return;
  }
  if (watch != nullptr && watch->is_over()) return;  // what was not simulated is not refuted
  for (Simulated& each : reproduction.likely) each.residual = residual_of_both(each, again);
  sort_by_residual(reproduction.likely);
  const Simulated& best = reproduction.likely.front();
  if (best.residual > kLeavesLittle || best.failure == reproduction.cause->failure) return;
  std::erase_if(reproduction.others, [&](const Simulated& each) { return each.failure == best.failure; });
  const auto before =
      std::find_if(reproduction.likely.begin(), reproduction.likely.end(),
                   [&](const Simulated& each) { return each.failure == reproduction.cause->failure; });
  reproduction.others.insert(reproduction.others.begin(), *before);
  reproduction.cause = best;
  reproduction.confidence = confidence_of(best, reproduction.others);
}

Reproduction reproduce(const Suspect& suspect, const Scene& scene, const Stopwatch* watch) {
  std::vector<Simulated> simulated;
  try {
    simulated = simulated_causes(suspect, scene, watch);
  } catch (const Error&) {
    return {};  // the node cannot be run by itself
  }
  sort_by_residual(simulated);
  Reproduction result;
  result.tried = simulated.size();
  for (const Simulated& each : simulated) {
    if (each.residual <= kLeavesLittle) result.likely.push_back(each);
  }
  for (Simulated& each : simulated) {
    const bool first = result.others.empty() && !result.cause;
    if (first && each.residual <= kLeavesLittle) {
      result.cause = std::move(each);
      continue;
    }
    const auto same = [&](const Simulated& other) { return other.failure == each.failure; };
    if ((result.cause && same(*result.cause)) ||
        std::any_of(result.others.begin(), result.others.end(), same))
      continue;
    result.others.push_back(std::move(each));
  }
  if (result.cause) result.confidence = confidence_of(*result.cause, result.others);
  return result;
}

}  // namespace vernier
