#include "vernier/diagnose/bounds/propagated_error.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/base/hash.h"
#include "vernier/compare/distance.h"
#include "vernier/diagnose/bounds/declared_weights.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/diagnose/bounds/perturbation.h"
#include "vernier/diagnose/bounds/quantization_error.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

// Codes of eight bits have this roundoff, beside the largest of them.
constexpr double kCodeRoundoff = 0.5 / 127;

// Draws where decisions may lie on an edge.
constexpr size_t kLeastOnEdges = 5, kMostDraws = 24;

// By value, over draws.
class Errors {
 public:
  // Adds what one draw made of values, and how they were without it.
  void add(const NamedData& quiet, const NamedData& moved, double unit_roundoff) {
    ++draws_;
    for (const auto& [name, before] : quiet) {
      const auto found = moved.find(name);
      if (found == moved.end() || !before.is_tensor() || !is_float(before.tensor.type())) continue;
      const Datum& after = found->second;
      if (before.tensor.dims() != after.tensor.dims()) continue;
      Seen& seen = seen_[name];
      const Distances distances = distances_of(before.tensor, after.tensor);
      seen.relative.push_back(distances.relative_l2);
      seen.elements = before.tensor.size();
      seen.error.max_abs = std::max(seen.error.max_abs, distances.max_abs);
      seen.error.unit_roundoff = std::max(seen.error.unit_roundoff, unit_roundoff);
    }
  }

  // Whether more draws would tell nothing new. Where all elements of an output err together, or there are
  // few, a draw is one number, which is small by chance as often as not.
  bool is_settled() const {
    constexpr size_t kLeast = 2, kMost = 5;
    if (draws_ < kLeast || draws_ >= kMost) return draws_ >= kMost;
    return std::all_of(seen_.begin(), seen_.end(), [](const auto& entry) { return entry.second.is_alike(); });
  }

  // Whether outputs were moved by as much, by name.
  bool explain(const std::map<std::string, double>& met) const {
    return std::all_of(met.begin(), met.end(), [&](const auto& entry) {
      const auto seen = seen_.find(entry.first);
      return seen == seen_.end() || !(seen->second.root_mean_square() < entry.second);
    });
  }

  std::map<std::string, PropagatedError> result() && {
    std::map<std::string, PropagatedError> errors;
    for (auto& [output, seen] : seen_) {
      seen.error.relative_l2 = seen.root_mean_square();
      errors[output] = seen.error;
    }
    return errors;
  }

 private:
  struct Seen {
    PropagatedError error;
    std::vector<double> relative;  // L2, by draw
    int64_t elements = 0;

    double root_mean_square() const {
      double squares = 0;
      for (const double each : relative) squares += each * each;
      return std::sqrt(squares / static_cast<double>(relative.size()));
    }
    bool is_alike() const {
      constexpr int64_t kMany = 64;
      constexpr double kAlike = 2;
      const auto [least, most] = std::minmax_element(relative.begin(), relative.end());
      return *most == 0 || (elements >= kMany && *most <= kAlike * *least);
    }
  };

  size_t draws_ = 0;
  std::map<std::string, Seen> seen_;
};

// Whether floats are made flags or whole numbers anywhere.
bool decides(const Graph& graph) {
  const auto holds_floats = [](const Value* value) {
    return value != nullptr && value->type.is_tensor() && is_float(value->type.tensor.element);
  };
  bool found = false;
  for_each_graph(graph, [&](const Graph& each) {
    for (const auto& node : each.nodes()) {
      const bool reads_floats = std::any_of(node->inputs.begin(), node->inputs.end(), holds_floats);
      found |= reads_floats && !std::all_of(node->outputs.begin(), node->outputs.end(), holds_floats);
      found |= reads_floats && ops::has_trait(*node, ops::kSteps);
    }
  });
  return found;
}

// A model of many values makes many decisions, of which each draw tries all: the more there are, the fewer
// draws it takes.
size_t most_draws_of(int64_t elements) {
  constexpr int64_t kEnough = int64_t{1} << 29;  // moved in all draws together
  return static_cast<size_t>(
      std::clamp<int64_t>(kEnough / std::max<int64_t>(1, elements), kLeastOnEdges, kMostDraws));
}

// Whether nothing narrower is stored: then values have the same errors whether they were rounded before or
// not.
bool rounds_to_float_alone(const ShownRun& shown) {
  bool quantizes = shown.quantized != nullptr;
  for_each_graph(*shown.graph, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) quantizes |= vernier::quantizes(*node);
  });
  return !quantizes && narrowest_float(*shown.graph) == ElementType::kFloat;
}

// Adds what kernels do to codes. It counts in steps of the scales that there are, be they right or not:
// beside what quantizing costs with good ones it explains no more than a few times that.
void add_quantization(const Graph& graph, const NamedData& inputs, uint64_t seed,
                      std::map<std::string, PropagatedError>& errors) {
  constexpr double kMostOfKernels = 2;
  const auto fine = with_needed_scales(graph, inputs);
  const NamedData quiet = reference_outputs(*fine, inputs);
  Errors found;
  for (size_t draw = 0; !found.is_settled(); ++draw)
    found.add(quiet, run_with_quantization_noise(*fine, inputs, hash_combine(seed, draw)), kCodeRoundoff);
  for (const auto& [output, quantizing] : std::move(found).result()) {
    if (quantizing.relative_l2 == 0) continue;  // nothing that it is made of is quantized
    PropagatedError& error = errors[output];
    const auto of_both = [](double plan, double kernels) {
      return std::max(plan, std::min(kernels, kMostOfKernels * plan));
    };
    error.relative_l2 = of_both(quantizing.relative_l2, error.relative_l2);
    error.max_abs = of_both(quantizing.max_abs, error.max_abs);
    error.unit_roundoff = std::max(error.unit_roundoff, quantizing.unit_roundoff);
  }
}

// The outputs of a run of the reference, and some of its inner values.
NamedData values_of(const Graph& graph, const NamedData& given, const InterpreterOptions& options,
                    const std::set<std::string>& inner_values) {
  if (inner_values.empty()) return reference_outputs(graph, given, options);
  NamedData inner;
  InterpreterOptions watched = options;
  watched.observe = [&](const Value& value, const Datum& datum) {
    if (inner_values.contains(value.name)) inner[value.name] = datum;
  };
  NamedData values = reference_outputs(graph, given, watched);
  values.merge(inner);
  return values;
}

}  // namespace

std::map<std::string, PropagatedError> propagated_errors(const EngineUnderTest& tested, const ShownRun& shown,
                                                         const NamedData& inputs, uint64_t seed,
                                                         const PropagationOptions& options) {
  const NamedData given = shown.given(inputs);
  DeclaredWeights weights(options.declared);
  InterpreterOptions planned, ideal;
  planned.planned = &shown.roundings;
  ideal.mode = ReferenceMode::kIdeal;
  ideal.constants = [&](const Value& value) {
    return is_narrow_float(*value.constant) ? weights.of(*value.constant) : *value.constant;
  };
  // Noise moves little what is noise already: draws go out from what the plan makes and, in turn, from what
  // there is without any rounding.
  struct Side {
    InterpreterOptions options;
    std::optional<NamedData> quiet = std::nullopt;  // run when it is first gone out from
  };
  std::array<Side, 2> sides{Side{planned}, Side{ideal}};
  Errors errors;
  KnownErrors known(rounds_to_float_alone(shown) ? options.most_bytes : 0);
  const bool may_turn_over = !options.met.empty() && decides(*shown.graph);
  size_t most_draws = kMostDraws;
  const auto ends = [&](size_t draw) {
    if (options.explains_only && draw > 0 && errors.explain(options.met)) return true;
    if (draw > 0 && options.is_over && options.is_over()) return true;
    if (!errors.is_settled()) return false;
    return draw >= most_draws || !may_turn_over || errors.explain(options.met);
  };
  for (size_t draw = 0; !ends(draw); ++draw) {
    Perturbation perturbation(tested, shown, hash_combine(seed, draw), known);
    Side& side = sides[draw % sides.size()];
    const auto run = [&](const InterpreterOptions& with) {
      return values_of(*shown.graph, given, with, options.inner_values);
    };
    if (!side.quiet) side.quiet = run(side.options);
    const NamedData moved = run(perturbation.applied(side.options));
    errors.add(*side.quiet, moved, perturbation.unit_roundoff());
    if (draw == 0) most_draws = most_draws_of(perturbation.elements());
  }
  auto propagated = std::move(errors).result();
  if (shown.quantized) add_quantization(*shown.quantized, given, seed, propagated);
  return propagated;
}

}  // namespace vernier
