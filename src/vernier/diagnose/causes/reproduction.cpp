#include "vernier/diagnose/causes/reproduction.h"

#include <algorithm>
#include <cmath>

#include "vernier/backends/reference/run_limit.h"
#include "vernier/diagnose/causes/trial.h"
#include "vernier/diagnose/hypotheses/runs/batch.h"

namespace vernier {

namespace {

constexpr double kLeavesLittle = 0.3;  // of the error: what leaves more is no cause

// Counts the values that heal when they are shown, but that the node has nothing to do with.
size_t healing_apart_from(const Node& node, const HypothesisContext& context) {
  std::set<std::string> apart = context.healing;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      if (value != nullptr) apart.erase(value->name);
    }
  }
  return apart.size();
}

// A family that cannot read the node knows no cause there.
void propose(const Hypothesis& hypothesis, const Member& member, const FlaggedNode& flagged,
             const HypothesisContext& context, std::vector<Proposal>& proposals) {
  try {
    hypothesis.propose(member, flagged, context, proposals);
  } catch (const Error&) {
    return;
  }
}

constexpr double kNothingLeft = 0.1;

Simulated before_judgement(const Proposal& proposal, const FlaggedNode& flagged, const Node& node,
                           const HypothesisContext& context) {
  Simulated result{proposal.failure, proposal.what, {}, proposal.values, 1};
  if (!proposal.of_whole) result.healing_apart = healing_apart_from(node, context);
  if (proposal.values.empty()) result.nodes = proposal.of_whole ? flagged.onnx_nodes() : onnx_nodes_of(node);
  return result;
}

// A cause at one member; and, where that leaves much, the same in the part of the results that is wrong.
// One sample of a batch of so many that is treated so is a matter of its place.
void judge_proposal(const Proposal& proposal, size_t number, const CauseTrial& trial, int64_t batch,
                    Simulated cause, std::vector<Simulated>& simulated) {
  constexpr double kPartIsReadOff = 0.03;
  const Tensors whole = trial.simulated(number, proposal.simulate());
  Simulated part = cause;
  trial.judge(whole, cause);
  cause.residual = std::min(1.0, cause.residual + proposal.penalty);
  simulated.push_back(cause);
  if (cause.residual <= kNothingLeft) return;
  CausePart where;
  const auto mixed = trial.in_part(whole, where);
  if (!mixed) return;
  trial.judge(*mixed, part);
  part.residual = std::min(1.0, part.residual + proposal.penalty + kPartIsReadOff);
  if (part.residual >= cause.residual) return;
  part.what = fmt::format("{}, in {}", part.what, where.text());
  const FailureClass left_over(46), not_waited_for(44);
  if (where.axis == 0 && where.of == batch)
    part.failure = FailureClass(43);
  else if (part.failure == left_over)
    part.failure = not_waited_for;  // who waits finds nothing of the run before, or all of it
  simulated.push_back(std::move(part));
}

// Causes of one family at one member: what a look at some elements finds likely first, as time may be over.
std::vector<Simulated> simulate(const FlaggedNode& flagged, const HypothesisContext& context,
                                const Members& members, size_t number, const CauseTrial& trial,
                                std::vector<Proposal> proposals, const Stopwatch* watch, bool& is_explained) {
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Proposal& a, const Proposal& b) { return a.screened < b.screened; });
  std::vector<Simulated> simulated;
  const int64_t batch = batch_of(context);
  for (const Proposal& proposal : proposals) {
    if (watch != nullptr && watch->is_over()) break;
    if (proposal.is_costly && is_explained) continue;
    try {
      const RunLimit limit(watch != nullptr ? std::min(trial.patience(), watch->left()) : trial.patience());
      judge_proposal(proposal, number, trial, batch,
                     before_judgement(proposal, flagged, members.all()[number].node(), context), simulated);
    } catch (const Error&) {
      continue;  // what cannot be computed did not happen
    }
    is_explained = is_explained || (!simulated.empty() && simulated.back().residual <= kNothingLeft);
  }
  return simulated;
}

// Whether a family looks at some elements of what was made: what that finds likely is simulated before all
// else, as time may be over before all is.
bool looks_first(const Hypothesis& family) {
  return family.propose == propose_precisions || family.propose == propose_coded_operands;
}

// Takes out of the proposals those that a look at some elements finds likely.
std::vector<Proposal> take_likely(std::vector<Proposal>& proposals) {
  constexpr double kLikely = 0.1;
  const auto rest = std::stable_partition(proposals.begin(), proposals.end(),
                                          [](const Proposal& each) { return each.screened > kLikely; });
  std::vector<Proposal> likely(std::make_move_iterator(rest), std::make_move_iterator(proposals.end()));
  proposals.erase(rest, proposals.end());
  return likely;
}

// In the order of the members, and of the library at each, whatever is simulated first.
std::vector<Simulated> simulated_causes(const FlaggedNode& flagged, const HypothesisContext& context,
                                        const Stopwatch* watch) {
  const Members members(flagged);
  const CauseTrial trial(flagged, members);
  const auto& families = hypotheses();
  const size_t places = members.all().size() * families.size();
  std::vector<std::vector<Simulated>> by_place(places);
  std::vector<std::vector<Proposal>> proposals(places);
  bool is_explained = false;  // nearly all of it
  const auto try_at = [&](size_t place, std::vector<Proposal> some) {
    auto simulated = simulate(flagged, context, members, place / families.size(), trial, std::move(some),
                              watch, is_explained);
    std::move(simulated.begin(), simulated.end(), std::back_inserter(by_place[place]));
  };
  const auto propose_at = [&](size_t place, const Hypothesis& family) {
    propose(family, members.all()[place / families.size()], flagged, context, proposals[place]);
  };
  for (size_t place = 0; place < places; ++place) {
    const Hypothesis& family = families[place % families.size()];
    if (!looks_first(family)) continue;
    propose_at(place, family);
    try_at(place, take_likely(proposals[place]));
  }
  for (const bool late : {false, true}) {
    for (size_t place = 0; place < places; ++place) {
      const Hypothesis& family = families[place % families.size()];
      if (family.comes_late != late) continue;
      if (!looks_first(family)) propose_at(place, family);
      try_at(place, std::exchange(proposals[place], {}));
    }
  }
  std::vector<Simulated> all;
  for (auto& some : by_place) std::move(some.begin(), some.end(), std::back_inserter(all));
  return all;
}

// Gives the part of the faults drawn by scripts/zoo that are named right where the cause leaves so much: a
// cause that leaves more than a few percent is often a neighbour of the one that nobody has thought of.
double share_of_right(double residual) {
  constexpr double kFew = 0.1, kSlope = 4;
  return residual <= kFew ? 1 - residual : 1 - kFew - kSlope * (residual - kFew);
}

double confidence_of(const Simulated& best, const std::vector<Simulated>& others) {
  const double margin = others.empty() ? 1 : others.front().residual - best.residual;
  constexpr double kClear = 0.25, kOfTwo = 0.8;  // the first of two that leave as little is right so often
  return share_of_right(best.residual) * (kOfTwo + (1 - kOfTwo) * std::min(1.0, margin / kClear));
}

// Whether all elements of what the engine made are alike, NaN for instance: then many causes make the same.
bool is_uniform(const Tensors& made) {
  std::optional<double> first;
  size_t count = 0;
  for (const Tensor& tensor : made) {
    if (!tensor.is_defined() || !is_float(tensor.type())) continue;
    for (const double value : tensor.to_doubles()) {
      if (!first) first = value;
      if (value != *first && !(std::isnan(value) && std::isnan(*first))) return false;
      ++count;
    }
  }
  return count > 1;
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

// Gives what is left of the error of both runs, if a cause is the same in the other one. One of the same
// class may be the same with another figure in it, or another of many that fit a few numbers by chance.
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

void decide_by(const FlaggedNode& other_run, const HypothesisContext& context, const Stopwatch* watch,
               Reproduction& reproduction) {
  std::vector<Simulated> again;
  try {
    again = simulated_causes(other_run, context, watch);
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

Reproduction reproduce(const FlaggedNode& flagged, const HypothesisContext& context, const Stopwatch* watch) {
  std::vector<Simulated> simulated;
  try {
    simulated = simulated_causes(flagged, context, watch);
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
  if (!result.cause) return result;
  constexpr double kOfMany = 0.5;  // causes that make all elements alike
  result.confidence = confidence_of(*result.cause, result.others) * (is_uniform(flagged.made) ? kOfMany : 1);
  return result;
}

}  // namespace vernier
