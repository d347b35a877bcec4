#include "vernier/error_analysis/expected_error.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

bool is_real(const Value& value) {
  return value.type.is_tensor() && is_float(value.type.tensor.element);
}

// Operands as the model has them, floats as double.
Tensor unrounded(const Tensor& tensor) {
  if (!tensor.is_defined() || !is_float(tensor.type()) || tensor.type() == ElementType::kDouble)
    return tensor;
  return stored_as_doubles(tensor);
}

// Adds that an element which kernels may take for zero (flushed_below) is off by all of itself.
void allow_flushing(const Tensor& tensor, std::vector<double>& errors) {
  const double below = tensor.is_defined() ? flushed_below(tensor.type()) : 0;
  if (below == 0) return;
  const Doubles values(tensor);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0 || !(std::abs(values[i]) < below)) continue;
    errors.resize(values.size(), 0);
    errors[i] = std::max(errors[i], std::abs(values[i]));
  }
}

bool sums(const Node& node) {
  if (!ops::is_group(node))
    return rule_of(node) == ErrorRule::kProducts || rule_of(node) == ErrorRule::kPerturbed;
  const auto& members = ops::body(node).nodes();
  return std::any_of(members.begin(), members.end(), [](const auto& member) { return sums(*member); });
}

// The results of a group that none of its nodes reads: they are rounded when they are stored, and others when
// they are made.
std::set<const Value*> last_results(const Graph& body) {
  std::set<const Value*> results(body.outputs.begin(), body.outputs.end());
  for (const auto& member : body.nodes()) {
    for (const Value* input : member->inputs) results.erase(input);
  }
  return results;
}

// Whether a node of the group but the first adds up elements: those of what a node before has made.
bool sums_results(const Node& group) {
  const auto& members = ops::body(group).nodes();
  return std::any_of(members.begin() + 1, members.end(), [](const auto& member) { return sums(*member); });
}

}  // namespace

// The errors of all values under one contract, node by node.
class ErrorModel::Walk {
 public:
  Walk(const ErrorModel& model, const NumericsContract& contract) : model_(model), contract_(contract) {}

  void add(const Node& node) { add(node, contract_.rounds_between, false); }

  // Rounds the results of a node to their declared types, but for some.
  void round(const Node& node, const std::set<const Value*>& but = {}) {
    if (contract_.computed == ElementType::kUndefined) return;
    for (const Value* output : node.outputs) {
      if (output != nullptr && is_real(*output) && !but.contains(output)) round(*output);
    }
  }

  const std::vector<double>& of(const Value* value) const { return errors_.at(value).error; }

 private:
  // A group among the nodes of a group is computed as one: nothing inside it is rounded, but its results are.
  void add(const Node& node, bool rounds_between, bool is_member) {
    if (!ops::is_group(node)) return add_one(node, is_member);
    const Graph& body = ops::body(node);
    for (size_t i = 0; i < body.inputs.size(); ++i) alias(node.inputs[i], body.inputs[i]);
    const std::set<const Value*> results = last_results(body);
    for (const auto& member : body.nodes()) {
      add(*member, false, true);
      if (rounds_between) round(*member, results);  // what the whole yields is rounded when it is stored
    }
    for (size_t i = 0; i < body.outputs.size(); ++i) alias(body.outputs[i], node.outputs[i]);
  }

  void alias(const Value* value, const Value* other) {
    if (value == nullptr || other == nullptr) return;
    errors_[other] = operand(value);
  }

  const ElementErrors& operand(const Value* value) {
    const auto found = errors_.find(value);
    if (found != errors_.end()) return found->second;
    const auto own = model_.operand_errors_.find(value);  // an operand of the whole
    return errors_[value] = {model_.value_of(value),
                             own == model_.operand_errors_.end() ? std::vector<double>() : own->second};
  }

  // Between the nodes of a group a kernel of ours has exact results where they need no rounding, and decides
  // by them as the model does. Of a black box it is not known what it reads.
  void add_one(const Node& node, bool is_member) {
    AnalysedNode analysed{node, {}, {}, contract_, is_member && !contract_.by_formula};
    for (const Value* input : node.inputs)
      analysed.in.push_back(input == nullptr ? nullptr : &operand(input));
    for (const Value* output : node.outputs)
      analysed.out.push_back(output == nullptr ? nullptr : &model_.value_of(output));
    auto errors = by_rule(analysed);
    if (rule_of(node) == ErrorRule::kProducts) start_variances_[node.output(0)] = start_variance(analysed);
    if (node.op == "Add") begin_with_start(node, errors.at(0));
    if (analysed.keeps_exact && !errors.empty()) keep_exact_results(analysed, contract_.computed, errors[0]);
    if (model_.steps_ && !errors.empty()) round_to(model_.steps_(node), errors[0]);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == nullptr) continue;
      errors_[node.outputs[i]] = {model_.value_of(node.outputs[i]),
                                  i < errors.size() ? std::move(errors[i]) : std::vector<double>()};
    }
  }

  static void round_to(double step, std::vector<double>& errors) {
    if (step == 0) return;
    for (double& error : errors) error = root_of_squares(error, step / std::sqrt(12));
  }

  // Kernels may begin a sum of products with what the model adds to it, and round at its size each time.
  void begin_with_start(const Node& node, std::vector<double>& errors) const {
    for (size_t input : {0, 1}) {
      const auto found = start_variances_.find(node.input(input));
      if (found == start_variances_.end()) continue;
      const Doubles whole(model_.value_of(node.output(0))), sums(model_.value_of(node.input(input)));
      if (sums.size() != errors.size()) continue;
      for_each_element(errors.size(), [&](size_t i) {
        const double start = whole[i] - sums[i];
        if (std::isfinite(start)) errors[i] = root_of_squares(errors[i], std::sqrt(found->second) * start);
      });
    }
  }

  std::vector<std::vector<double>> by_rule(const AnalysedNode& node) const {
    switch (rule_of(node.node)) {
      case ErrorRule::kCopies: return copied_errors(node);
      case ErrorRule::kSelects: return perturbed_errors(node, false);
      case ErrorRule::kProducts: return {product_errors(node, model_.squares_[&node.node])};
      case ErrorRule::kPointwise: return {pointwise_errors(node)};
      case ErrorRule::kQuantizes: return {quantized_errors(node)};
      case ErrorRule::kPerturbed: return perturbed_errors(node, true);
    }
    return {};
  }

  void round(const Value& value) {
    ElementErrors& known = errors_.at(&value);
    const Doubles values(known.value);
    const RoundingError rounding(value.type.tensor.element);
    known.error.resize(values.size(), 0);
    for_each_element(values.size(), [&](size_t i) {
      if (known.error[i] == 0 && rounding.is_exact(values[i])) return;
      known.error[i] = root_of_squares(known.error[i], rounding.of(values[i]));
    });
  }

  const ErrorModel& model_;
  const NumericsContract& contract_;
  std::map<const Value*, ElementErrors> errors_;
  std::map<const Value*, double> start_variances_;  // of sums of products
};

ErrorModel::ErrorModel(const Node& node, const std::vector<Tensor>& inputs,
                       std::vector<std::vector<double>> errors, SumSteps steps, const NumericsContract* mixed)
    : node_(node), steps_(std::move(steps)) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == nullptr) continue;
    values_[node.inputs[i]] = unrounded(inputs.at(i));
    std::vector<double> known = i < errors.size() ? std::move(errors[i]) : std::vector<double>();
    allow_flushing(inputs.at(i), known);
    if (!known.empty()) operand_errors_[node.inputs[i]] = std::move(known);
  }
  evaluate(node, values_, mixed, false);
}

ErrorModel::~ErrorModel() = default;

std::vector<Tensor> ErrorModel::mixed_values(const Node& node, const std::vector<Tensor>& inputs,
                                             const NumericsContract& contract) {
  ErrorModel model(node, inputs, {}, nullptr, &contract);
  std::vector<Tensor> results;
  for (const Value* output : node.outputs)
    results.push_back(output == nullptr ? Tensor() : model.value_of(output));
  return results;
}

void ErrorModel::evaluate(const Node& node, Values& values, const NumericsContract* mixed,
                          bool rounds_between) {
  if (!node.regions.empty() && !ops::is_group(node))
    throw unsupported("the errors of {} are not analysed", node.op).at_node(node.name);
  if (ops::is_group(node)) {
    const Graph& body = ops::body(node);
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      if (node.inputs[i] != nullptr) values[body.inputs[i]] = values.at(node.inputs[i]);
    }
    const std::set<const Value*> results = last_results(body);
    for (const auto& member : body.nodes()) {
      evaluate(*member, values, mixed, false);
      for (const Value* output : member->outputs) {
        if (!rounds_between || output == nullptr || !is_real(*output) || results.contains(output)) continue;
        Tensor& value = values.at(output);
        value =
            unrounded(Tensor::from_doubles(output->type.tensor.element, value.dims(), value.to_doubles()));
      }
    }
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      if (node.outputs[i] != nullptr) values[node.outputs[i]] = values.at(body.outputs[i]);
    }
    return;
  }
  std::vector<const Tensor*> operands;
  for (const Value* input : node.inputs) {
    if (input != nullptr && !values.contains(input) && input->is_constant())
      values[input] = unrounded(*input->constant);
    operands.push_back(input == nullptr ? nullptr : &values.at(input));
  }
  auto results =
      mixed == nullptr ? evaluate_unrounded(node, operands) : evaluate_mixed(node, operands, *mixed);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != nullptr) values[node.outputs[i]] = std::move(results.at(i));
  }
}

const std::vector<ElementErrors>& ErrorModel::outputs(const NumericsContract& contract) const {
  for (const auto& [asked, errors] : known_) {
    if (asked == contract) return errors;
  }
  Walk walk(*this, contract);
  walk.add(node_);
  walk.round(node_);
  Values rounded;
  const bool rounds = contract.rounds_between && contract.computed != ElementType::kUndefined;
  if (rounds && ops::is_group(node_) && sums_results(node_)) {
    for (const Value* input : node_.inputs) {
      if (input != nullptr) rounded[input] = value_of(input);
    }
    evaluate(node_, rounded, nullptr, true);
  }
  std::vector<ElementErrors> result;
  for (const Value* output : node_.outputs) {
    if (output == nullptr)
      result.emplace_back();
    else
      result.push_back({rounded.empty() ? value_of(output) : rounded.at(output), walk.of(output)});
  }
  return known_.emplace_back(contract, std::move(result)).second;
}

const Tensor& ErrorModel::value(size_t output) const {
  return value_of(node_.output(output));
}

}  // namespace vernier
