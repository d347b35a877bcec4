#include "vernier/diagnose/bounds/error_split.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/times_bound.h"
#include "vernier/compare/distance.h"
#include "vernier/diagnose/bounds/amplifier.h"
#include "vernier/diagnose/bounds/derived_bounds.h"

namespace vernier {

namespace {

double distance(const NamedData& reference, const NamedData& actual, const std::string& name) {
  const auto a = reference.find(name), b = actual.find(name);
  if (a == reference.end() || b == actual.end() || !a->second.is_tensor() || !b->second.is_tensor() ||
      a->second.tensor.dims() != b->second.tensor.dims())
    return HUGE_VAL;
  return relative_l2_of(a->second.tensor, b->second.tensor);
}

std::string ill_conditioned(const ErrorSplit& split, double amplification, AmplifierSearch& amplifiers) {
  std::string text =
      std::isfinite(amplification)
          ? fmt::format("ill-conditioned: the model amplifies roundings {:.2g} times", amplification)
          : "ill-conditioned: roundings of the model make NaN or Inf of numbers";
  const auto worst = amplifiers.worst_before(split.output);
  if (worst && !std::isfinite(worst->makes))
    text += fmt::format(", first at '{}'", worst->node);
  else if (worst)
    text += fmt::format(", most at '{}' ({:.2g} off in what it reads, {:.2g} in what it makes)", worst->node,
                        worst->reads, worst->makes);
  return text;
}

std::string sentence_of(const ErrorSplit& split, double amplification, AmplifierSearch& amplifiers,
                        const std::string& type, bool sound) {
  if (!std::isfinite(split.needs))
    return "not explainable by precision: NaN, Inf or other sizes stand where the other side has numbers";
  if (!(split.needs <= split.bound))
    return fmt::format("not explainable by precision: needs {:.2g}, {}", split.needs,
                       times_bound(split.needs / split.bound, split.bound));
  std::string text = amplification > kIllConditioned || split.explains_everything
                         ? ill_conditioned(split, amplification, amplifiers)
                         : fmt::format("within the rounding of {}", type);
  text += std::isfinite(split.bound) ? fmt::format(" (needs {:.2g}, bound {:.2g})", split.needs, split.bound)
                                     : fmt::format(" (needs {:.2g}, which no bound excludes)", split.needs);
  return text + (sound ? "; the kernels add nothing beyond the plan" : "");
}

}  // namespace

std::vector<ErrorSplit> split_error(const Model& model, const EngineUnderTest& tested, const ShownRun& shown,
                                    const NamedData& inputs, const NamedData& outputs, bool sound,
                                    uint64_t seed, const PropagationOptions& limits) {
  const auto ideal = reference_outputs(*model.graph, inputs, {.mode = ReferenceMode::kIdeal}),
             declared = reference_outputs(*model.graph, inputs);
  const NamedData given = shown.given(inputs);
  InterpreterOptions as_planned;
  as_planned.planned = &shown.roundings;
  const auto planned = reference_outputs(*shown.graph, given, as_planned);
  PropagationOptions propagation = limits;
  propagation.declared = model.graph.get();
  for (const Value* output : shown.graph->outputs) {
    const double needs = distance(declared, outputs, output->name);
    if (sound && std::isfinite(needs)) propagation.met[output->name] = needs / kBoundFactor;
  }
  const auto propagated = propagated_errors(tested, shown, inputs, seed, propagation);
  AmplifierSearch amplifiers(tested, shown, inputs, seed);
  std::vector<ErrorSplit> split;
  for (const Value* output : model.graph->outputs) {
    if (!output->type.is_tensor() || !is_float(output->type.tensor.element)) continue;
    ErrorSplit each;
    each.output = output->name;
    each.ideal_declared = distance(ideal, declared, each.output);
    each.declared_planned = distance(declared, planned, each.output);
    each.planned_engine = distance(planned, outputs, each.output);
    each.needs = distance(declared, outputs, each.output);
    const auto error = propagated.find(each.output);
    const PropagatedError known = error == propagated.end() ? PropagatedError() : error->second;
    const DerivedBound bound = bound_of(known, shown);
    each.bound = bound.relative_l2;
    each.explains_everything = bound.explains_everything();
    const double own = own_amplification(*model.graph, each.ideal_declared);
    if (sound && own > kIllConditioned) each.bound = std::max(each.bound, kBoundFactor * each.ideal_declared);
    const double amplification = std::max(own, known.relative_l2 / known.unit_roundoff);
    each.sentence = sentence_of(each, amplification, amplifiers, bound.roundings, sound);
    split.push_back(std::move(each));
  }
  return split;
}

bool within_bounds(const std::vector<ErrorSplit>& split) {
  return std::all_of(split.begin(), split.end(), [](const ErrorSplit& each) {
    return std::isfinite(each.needs) && each.needs <= each.bound;
  });
}

bool is_beyond_rounding(const std::vector<ErrorSplit>& split) {
  constexpr double kPartOfEngine = 0.1;
  return std::any_of(split.begin(), split.end(), [](const ErrorSplit& each) {
    return each.needs > kFarBeyond * each.bound && each.planned_engine > kPartOfEngine * each.needs;
  });
}

bool explains_everything(const std::vector<ErrorSplit>& split) {
  return std::any_of(split.begin(), split.end(),
                     [](const ErrorSplit& each) { return each.explains_everything; });
}

bool within_bounds(const std::vector<ErrorSplit>& split, const NamedData& other, const NamedData& outputs) {
  return std::all_of(split.begin(), split.end(), [&](const ErrorSplit& each) {
    return distance(other, outputs, each.output) <= each.bound;
  });
}

}  // namespace vernier
