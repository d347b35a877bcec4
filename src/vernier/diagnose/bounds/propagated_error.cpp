#include "vernier/diagnose/bounds/propagated_error.h"

#include <array>
#include <cmath>
#include <random>

#include "vernier/base/hash.h"
#include "vernier/compare/distance.h"
#include "vernier/diagnose/bounds/declared_weights.h"
#include "vernier/diagnose/bounds/quantisation_error.h"
#include "vernier/diagnose/experiments/integer_kernels.h"
#include "vernier/diagnose/hypotheses/precision/partial_sums.h"
#include "vernier/error_analysis/expected_error.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/quant/quantization.h"
#include "vernier/tensor/drawn_blocks.h"

namespace vernier {

namespace {

bool is_narrow(const Tensor& tensor) {
  return is_float(tensor.type()) && element_size(tensor.type()) < sizeof(float);
}

// By node: how many times as large as expected its rounding is.
using Growths = std::map<const Node*, double>;

class Perturbation {
 public:
  // `growths` are those that are known already; more are added.
  Perturbation(const Subject& subject, const ShownRun& shown, uint64_t seed, Growths& growths)
      : subject_(subject), shown_(shown), seed_(seed), growths_(growths) {}

  void add(const Node& node, std::span<const Datum* const> operands, std::vector<Datum>& results) {
    std::vector<Tensor> inputs;
    for (const Datum* operand : operands) {
      if (operand != nullptr && !operand->is_tensor()) return;
      inputs.push_back(operand == nullptr ? Tensor() : operand->tensor);
    }
    std::vector<ElementErrors> expected;
    try {
      expected = ErrorModel(node, inputs).outputs(subject_.contract_of(shown_, node));
    } catch (const Error&) {
      return;  // nothing is known of it; of control flow, what is inside has been moved
    }
    const double step = may_sum_integers(shown_.contract_of(node)) ? integer_sum_step(node, inputs) : 0;
    for (ElementErrors& errors : expected) {
      if (is_float(errors.value.type())) allow_step(step, errors);
    }
    const auto [known, fresh] = growths_.try_emplace(&node, 1);
    if (fresh) {
      Suspect sound;
      sound.node = &node;
      sound.inputs = inputs;
      sound.expected = expected;
      known->second = partial_sum_growth(sound);
    }
    for (ElementErrors& errors : expected) {
      for (double& error : errors.error) error *= known->second;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      Tensor& tensor = results[i].tensor;
      const Value* output = node.outputs[i];
      if (output == nullptr || !results[i].is_tensor()) continue;
      const uint64_t seed = hash_combine(hash_text(output->name, seed_), draws_[output]++);
      if (is_float(tensor.type()) && !expected[i].is_exact()) {
        tensor = moved(tensor, expected[i], seed);
        note(*output, tensor.type());
      }
      if (is_integer(tensor.type()) && ops::is_group(node))
        tensor = with_steps(tensor, expected[i], step / scale_of_codes(*output, inputs), seed);
    }
  }

  // Weights of narrow floats were rounded once, by the plan or before: wherever they are read, in the same
  // way. `content` is the weight before that, where it is known, or after.
  Tensor constant(const Value& value, const Tensor& content) {
    const ElementType type = value.constant->type();
    const RoundingError rounding(type);
    ElementErrors errors{content, content.to_doubles()};
    for (double& error : errors.error) error = rounding.of(error);
    note(value, type);
    return moved(content, errors, hash_text(value.name, seed_));
  }

  double unit_roundoff() const { return unit_roundoff_; }

 private:
  // What is made in double is stored in the type that the graph says, where it says one.
  void note(const Value& value, ElementType made) {
    const ElementType said = value.type.is_tensor() ? value.type.tensor.element : ElementType::kUndefined;
    unit_roundoff_ = std::max(unit_roundoff_, vernier::unit_roundoff(is_float(said) ? said : made));
  }

  Tensor moved(const Tensor& tensor, const ElementErrors& expected, uint64_t seed) {
    auto values = tensor.to_doubles();
    draw_blocks(std::span(values), seed, [&](std::span<double> part, SplitMix64& random) {
      std::normal_distribution<double> normal;
      const auto first = static_cast<size_t>(part.data() - values.data());
      for (size_t i = 0; i < part.size(); ++i) {
        const double error = expected.at(first + i);
        if (std::isfinite(error)) part[i] += normal(random) * error;
      }
    });
    return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
  }

  // Codes that a group makes of numbers which nobody sees, some a step off: those beside a tie, and as many
  // more as cross one where sums are kept in units of `part` of a step.
  static Tensor with_steps(const Tensor& codes, const ElementErrors& expected, double part, uint64_t seed) {
    // Of numbers whose tie is within reach of errors so many, at most, come to lie beyond it.
    constexpr double kCross = 1 / kLargestDeviation;
    const double crossing = std::isfinite(part) ? std::min(1.0, part / 4) : 0;
    const ops::ValueRange range = ops::value_range(codes.type());
    auto values = codes.to_doubles();
    draw_blocks(std::span(values), seed, [&](std::span<double> some, SplitMix64& random) {
      std::uniform_real_distribution<double> uniform(-1, 1);
      const auto first = static_cast<size_t>(some.data() - values.data());
      for (size_t i = 0; i < some.size(); ++i) {
        const double drawn = uniform(random);
        const bool inside = some[i] > range.low && some[i] < range.high;
        const double chance = crossing + (expected.at(first + i) > 0 ? kCross : 0);
        if (inside && std::abs(drawn) < chance) some[i] += drawn < 0 ? -1 : 1;
      }
    });
    return Tensor::from_doubles(codes.type(), codes.dims(), values);
  }

  const Subject& subject_;
  const ShownRun& shown_;
  uint64_t seed_;
  Growths& growths_;
  std::map<const Value*, uint64_t> draws_;  // so far: nodes of loops run many times
  double unit_roundoff_ = vernier::unit_roundoff(ElementType::kDouble);
};

// Of codes of eight bits, beside the largest of them.
constexpr double kCodeRoundoff = 0.5 / 127;

// By output of the graph, over draws.
class Errors {
 public:
  explicit Errors(const Graph& graph) : graph_(graph) {}

  // What one draw made of outputs, and how they were without it.
  void add(const NamedData& quiet, const NamedData& moved, double unit_roundoff) {
    ++draws_;
    for (const Value* output : graph_.outputs) {
      const Datum &before = quiet.at(output->name), &after = moved.at(output->name);
      if (!before.is_tensor() || !is_float(before.tensor.type()) ||
          before.tensor.dims() != after.tensor.dims())
        continue;
      Seen& seen = seen_[output->name];
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

  std::map<std::string, PropagatedError> result() && {
    std::map<std::string, PropagatedError> errors;
    for (auto& [output, seen] : seen_) {
      double squares = 0;
      for (const double each : seen.relative) squares += each * each;
      seen.error.relative_l2 = std::sqrt(squares / static_cast<double>(draws_));
      errors[output] = seen.error;
    }
    return errors;
  }

 private:
  struct Seen {
    PropagatedError error;
    std::vector<double> relative;  // L2, by draw
    int64_t elements = 0;

    bool is_alike() const {
      constexpr int64_t kMany = 64;
      constexpr double kAlike = 2;
      const auto [least, most] = std::minmax_element(relative.begin(), relative.end());
      return *most == 0 || (elements >= kMany && *most <= kAlike * *least);
    }
  };

  const Graph& graph_;
  size_t draws_ = 0;
  std::map<std::string, Seen> seen_;
};

// What kernels do to codes counts in steps of the scales that there are, be they right or not: beside what
// quantising costs with good ones it explains no more than a few times that.
void add_quantisation(const Graph& graph, const NamedData& inputs, uint64_t seed,
                      std::map<std::string, PropagatedError>& errors) {
  constexpr double kMostOfKernels = 2;
  const auto fine = with_needed_scales(graph, inputs);
  const NamedData quiet = reference_outputs(*fine, inputs);
  Errors found(*fine);
  for (size_t draw = 0; !found.is_settled(); ++draw)
    found.add(quiet, run_with_quantisation_noise(*fine, inputs, hash_combine(seed, draw)), kCodeRoundoff);
  for (const auto& [output, quantising] : std::move(found).result()) {
    if (quantising.relative_l2 == 0) continue;  // nothing that it is made of is quantised
    PropagatedError& error = errors[output];
    const auto of_both = [](double plan, double kernels) {
      return std::max(plan, std::min(kernels, kMostOfKernels * plan));
    };
    error.relative_l2 = of_both(quantising.relative_l2, error.relative_l2);
    error.max_abs = of_both(quantising.max_abs, error.max_abs);
    error.unit_roundoff = std::max(error.unit_roundoff, quantising.unit_roundoff);
  }
}

}  // namespace

std::map<std::string, PropagatedError> propagated_errors(const Subject& subject, const ShownRun& shown,
                                                         const NamedData& inputs, uint64_t seed,
                                                         const Graph* declared) {
  const NamedData given = shown.given(inputs);
  DeclaredWeights weights(declared);
  InterpreterOptions planned, ideal;
  planned.planned = &shown.roundings;
  ideal.mode = ReferenceMode::kIdeal;
  ideal.constants = [&](const Value& value) {
    return is_narrow(*value.constant) ? weights.of(*value.constant) : *value.constant;
  };
  // Noise moves little what is noise already: draws go out from what the plan makes and, in turn, from what
  // there is without any rounding.
  struct Side {
    InterpreterOptions options;
    NamedData quiet;
  };
  std::array<Side, 2> sides{Side{planned, reference_outputs(*shown.graph, given, planned)},
                            Side{ideal, reference_outputs(*shown.graph, given, ideal)}};
  Errors errors(*shown.graph);
  Growths growths;
  for (size_t draw = 0; !errors.is_settled(); ++draw) {
    Perturbation perturbation(subject, shown, hash_combine(seed, draw), growths);
    const Side& side = sides[draw % sides.size()];
    InterpreterOptions options = side.options;
    options.revises_regions = true;
    options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                         std::vector<Datum>& results) { perturbation.add(node, operands, results); };
    options.constants = [&](const Value& value) {
      const Tensor content = side.options.constants ? side.options.constants(value) : *value.constant;
      return is_narrow(*value.constant) ? perturbation.constant(value, content) : content;
    };
    const NamedData moved = reference_outputs(*shown.graph, given, options);
    errors.add(side.quiet, moved, perturbation.unit_roundoff());
  }
  auto propagated = std::move(errors).result();
  if (shown.quantised) add_quantisation(*shown.quantised, given, seed, propagated);
  return propagated;
}

}  // namespace vernier
