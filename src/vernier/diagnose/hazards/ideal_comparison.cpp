#include "vernier/diagnose/hazards/ideal_comparison.h"

#include <algorithm>
#include <cmath>

#include "vernier/compare/distance.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/evaluate.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

bool is_comparable(const Datum& a, const Datum& b) {
  return a.is_tensor() && b.is_tensor() && is_float(a.tensor.type()) && is_float(b.tensor.type());
}

const Tensor* find(const std::map<const Value*, Tensor>& values, const Value& value,
                   const NamedData& inputs) {
  if (const auto found = values.find(&value); found != values.end()) return &found->second;
  if (value.is_constant()) return &*value.constant;
  const auto given = inputs.find(value.name);
  return given != inputs.end() && given->second.is_tensor() ? &given->second.tensor : nullptr;
}

}  // namespace

IdealComparison::IdealComparison(const Graph& graph, const NamedData& inputs,
                                 const PlannedRoundings* roundings)
    : graph_(graph), inputs_(inputs), roundings_(roundings) {
  InterpreterOptions ideal{.mode = ReferenceMode::kIdeal};
  ideal.observe = [this](const Value& value, const Datum& datum) {
    if (datum.is_tensor()) ideal_[&value] = set_aside(datum.tensor);
  };
  ideal_outputs_ = reference_outputs(graph, inputs, ideal);
  run({});
}

void IdealComparison::run(const Healed& healed) {
  rounded_.clear();
  exact_.clear();
  InterpreterOptions rounding;
  rounding.planned = roundings_;
  rounding.revise = [&](const Node& node, std::span<const Datum* const> operands,
                        std::vector<Datum>& results) {
    const auto made_exactly = healed.exact.contains(&node) ? exact(node, operands) : std::vector<Tensor>();
    for (size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] == nullptr || !results[i].is_tensor()) continue;
      Tensor& made = results[i].tensor;
      const Tensor* right = healed.given.contains(&node) ? meant(*node.outputs[i]) : nullptr;
      if (i < made_exactly.size()) right = &made_exactly[i];
      if (right != nullptr && right->dims() == made.dims()) {
        exact_[node.outputs[i]] = set_aside(*right);
        made = is_float(made.type()) ? Tensor::from_doubles(made.type(), made.dims(), right->to_doubles())
                                     : *right;
      }
      rounded_[node.outputs[i]] = set_aside(made);
    }
  };
  outputs_ = reference_outputs(graph_, inputs_, rounding);
}

std::vector<Tensor> IdealComparison::exact(const Node& node, std::span<const Datum* const> operands) const {
  if (!node.regions.empty()) return {};
  std::vector<const Tensor*> inputs;
  std::vector<ElementType> declared;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value* value = node.inputs[i];
    const auto known = exact_.find(value);
    if (operands[i] != nullptr && !operands[i]->is_tensor()) return {};
    inputs.push_back(operands[i] == nullptr  ? nullptr
                     : known != exact_.end() ? &known->second
                                             : &operands[i]->tensor);
    declared.push_back(operands[i] == nullptr ? ElementType::kUndefined : operands[i]->tensor.type());
  }
  std::vector<Tensor> results;
  for (Datum& made : ops::evaluate(node, inputs, ReferenceMode::kIdeal, declared))
    results.push_back(made.is_tensor() ? std::move(made.tensor) : Tensor());
  return results;
}

const Tensor* IdealComparison::meant(const Value& value) const {
  return find(ideal_, value, inputs_);
}

const Tensor* IdealComparison::made(const Value& value) const {
  return find(rounded_, value, inputs_);
}

double IdealComparison::distance() const {
  Tensors made, right;
  for (const auto& [name, datum] : ideal_outputs_) {
    const auto found = outputs_.find(name);
    if (found == outputs_.end() || !is_comparable(datum, found->second)) continue;
    right.push_back(datum.tensor);
    made.push_back(found->second.tensor);
  }
  return bounded_distance(made, right, right);
}

double IdealComparison::relative_error(const NamedData& ideal, const NamedData& actual) {
  double largest = 0;
  for (const auto& [name, datum] : ideal) {
    const auto found = actual.find(name);
    if (found == actual.end() || !is_comparable(datum, found->second)) continue;
    if (datum.tensor.dims() != found->second.tensor.dims()) return HUGE_VAL;
    const double error = relative_l2_of(datum.tensor, found->second.tensor);
    if (std::isnan(error)) continue;  // no number on either side
    largest = std::max(largest, error);
  }
  return largest;
}

double IdealComparison::unit_roundoff(const Graph& graph) {
  double largest = vernier::unit_roundoff(ElementType::kFloat);
  for (const auto& value : graph.values()) {
    if (!value->type.is_tensor() || !is_float(value->type.tensor.element) || value->is_constant()) continue;
    largest = std::max(largest, vernier::unit_roundoff(value->type.tensor.element));
  }
  return largest;
}

}  // namespace vernier
