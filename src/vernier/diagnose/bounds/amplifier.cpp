#include "vernier/diagnose/bounds/amplifier.h"

#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/diagnose/bounds/perturbation.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

using Results = std::map<const Value*, Tensor>;
using Errors = std::map<const Value*, double>;

void keep_results(const Node& node, std::span<const Datum> results, Results& kept) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] != nullptr && results[i].is_tensor())
      kept[node.outputs[i]] = set_aside(results[i].tensor);
  }
}

// Relative L2, by value: how far results were moved from what was kept of the quiet run. Another number of
// elements is as far as can be.
void add_errors(const Node& node, std::span<const Datum> moved, const Results& quiet, Errors& errors) {
  for (size_t i = 0; i < moved.size(); ++i) {
    if (node.outputs[i] == nullptr || !moved[i].is_tensor()) continue;
    const Tensor& tensor = moved[i].tensor;
    const auto before = quiet.find(node.outputs[i]);
    if (before == quiet.end() || tensor.type() == ElementType::kString) continue;
    errors[node.outputs[i]] =
        before->second.dims() == tensor.dims() ? relative_l2_of(before->second, tensor) : HUGE_VAL;
  }
}

double error_of(const Errors& errors, const Value* value) {
  const auto found = errors.find(value);
  return value == nullptr || found == errors.end() ? 0 : found->second;
}

// The operand that errs the most, whoever made it; null where none errs.
const Value* worst_operand(const Node& node, const Errors& errors) {
  const Value* worst = nullptr;
  for (const Value* operand : node.inputs) {
    if (error_of(errors, operand) > error_of(errors, worst)) worst = operand;
  }
  return worst;
}

std::optional<Amplifier> worst_on_the_way(const Value* output, const Errors& errors) {
  std::optional<Amplifier> found;
  double most = 1;
  const double rounding = unit_roundoff(ElementType::kFloat);
  while (output != nullptr && output->producer() != nullptr) {
    const Value* operand = worst_operand(*output->producer(), errors);
    const double reads = error_of(errors, operand), makes = error_of(errors, output);
    // Errors of less than a rounding cannot be told from none.
    if (const double growth = makes / std::max(reads, rounding); growth > most) {
      most = growth;
      found = {output->producer()->name, reads, makes};
    }
    output = operand;
  }
  return found;
}

}  // namespace

AmplifierSearch::Errors AmplifierSearch::errors_from(const InterpreterOptions& side) {
  const NamedData given = shown_.given(inputs_);
  Results quiet;
  InterpreterOptions watched = side;
  watched.revises_regions = true;
  watched.revise = [&](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    keep_results(node, results, quiet);
  };
  run_reference(*shown_.graph, given, watched);
  KnownErrors known(0);
  Perturbation perturbation(tested_, shown_, seed_, known);
  Errors errors;
  const auto compare = [&](const Node& node, std::span<const Datum> results) {
    add_errors(node, results, quiet, errors);
  };
  run_reference(*shown_.graph, given, perturbation.applied(side, compare));
  return errors;
}

std::optional<Amplifier> AmplifierSearch::worst_before(const std::string& output) {
  if (errors_.empty()) {
    InterpreterOptions planned, ideal;
    planned.planned = &shown_.roundings;
    ideal.mode = ReferenceMode::kIdeal;
    errors_ = {errors_from(planned), errors_from(ideal)};
  }
  std::optional<Amplifier> worst;
  for (const Value* each : shown_.graph->outputs) {
    if (each->name != output) continue;
    for (const Errors& errors : errors_) {
      const auto found = worst_on_the_way(each, errors);
      if (found && (!worst || found->makes > worst->makes)) worst = found;
    }
  }
  return worst;
}

}  // namespace vernier
