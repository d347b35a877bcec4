#include "vernier/run/decisions.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/run/dataflow.h"
#include "vernier/run/near_ties.h"
#include "vernier/run/quantising.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

// Runs of the reference for one sample: to take what is shown, and to find out what is not.
constexpr size_t kMostTaken = 16, kMostGuesses = 12;

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double error = std::abs(a - b);
  return std::isnan(error) ? HUGE_VAL : error;
}

const Tensor* tensor_in(const Trace& trace, const std::string& name) {
  const TraceEntry* entry = trace.find(name);
  const bool usable = entry != nullptr && entry->datum.is_tensor() && entry->datum.tensor.is_defined() &&
                      entry->datum.tensor.type() != ElementType::kString;
  return usable ? &entry->datum.tensor : nullptr;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dims() == b.dims() && a.to_doubles() == b.to_doubles();
}

// What a deciding node reads on both sides of one sample.
class Operands {
 public:
  Operands(const NamedData& inputs, const Trace& reference, const Trace& actual,
           const CompareOptions& options)
      : inputs_(inputs), reference_(reference), actual_(actual), options_(options) {}

  // Nothing if the content is not known, or differs by more than can be no fault.
  std::optional<DecisionInput> read(const Value& value) const {
    if (const Tensor* given = given_content(value)) {
      return DecisionInput{given->dims(), given->to_doubles(),
                           std::vector<double>(static_cast<size_t>(given->size()), 0), true};
    }
    const Tensor* expected = tensor_in(reference_, value.name);
    if (expected == nullptr) return std::nullopt;
    DecisionInput operand{expected->dims(), expected->to_doubles(), {}, true};
    const Tensor* got = tensor_in(actual_, value.name);
    if (got == nullptr) return with_noise(value, std::move(operand));
    if (got->dims() != expected->dims()) return std::nullopt;
    const auto values = got->to_doubles();
    for (size_t i = 0; i < values.size(); ++i)
      operand.errors.push_back(difference(operand.values[i], values[i]));
    if (!is_faultless(value, *expected, *got, operand)) return std::nullopt;
    operand.is_shown = got->type() == expected->type();
    return operand;
  }

 private:
  const Tensor* given_content(const Value& value) const {
    const auto found = inputs_.find(value.name);
    if (found != inputs_.end()) return found->second.is_tensor() ? &found->second.tensor : nullptr;
    return value.is_constant() ? &*value.constant : nullptr;
  }

  const NoiseFloor* noise(const Value& value) const {
    const auto found = options_.noise_floor.find(value.name);
    return found == options_.noise_floor.end() ? nullptr : &found->second;
  }

  std::optional<DecisionInput> with_noise(const Value& value, DecisionInput operand) const {
    const NoiseFloor* floor = noise(value);
    if (floor == nullptr) return std::nullopt;
    operand.errors.assign(operand.values.size(), floor->max_abs);
    operand.is_shown = false;
    return operand;
  }

  // An engine may hold what is inside in a narrower type than the model says.
  bool is_faultless(const Value& value, const Tensor& expected, const Tensor& got,
                    const DecisionInput& operand) const {
    const bool narrower = is_float(expected.type()) && is_float(got.type()) &&
                          element_bits(got.type()) < element_bits(expected.type());
    const ElementType declared =
        value.type.is_tensor() && value.type.tensor.element != ElementType::kUndefined
            ? value.type.tensor.element
            : got.type();
    const ElementType type = narrower ? got.type() : declared;
    const Tolerance usual = default_tolerance(type), given = options_.tolerances.of(value.name, type);
    const NoiseFloor* floor = noise(value);
    const double largest = floor == nullptr ? 0 : options_.noise_factor * floor->max_abs;
    for (size_t i = 0; i < operand.errors.size(); ++i) {
      const double error = operand.errors[i], reference = operand.values[i];
      if (error == 0 || error <= largest) continue;
      if (!usual.accepts(error, reference) && !given.accepts(error, reference)) return false;
    }
    return true;
  }

  const NamedData& inputs_;
  const Trace &reference_, &actual_;
  const CompareOptions& options_;
};

// The values of TopK for other indices: elements of its input, as the reference has them.
Tensor values_at(const Node& node, const DecisionInput& x, const Tensor& like, const Tensor& indices) {
  const auto axis = ops::integer_attribute(node, "axis");
  const auto at_axis = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.dims.size()) : axis);
  int64_t inner = 1;
  for (size_t i = at_axis + 1; i < x.dims.size(); ++i) inner *= x.dims[i];
  const int64_t length = x.dims[at_axis], count = indices.dims()[at_axis];
  const auto index = indices.to_ints();
  std::vector<double> values;
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t outer = i / (count * inner), within = i % inner;
    values.push_back(
        x.values[static_cast<size_t>((outer * length + index[static_cast<size_t>(i)]) * inner + within)]);
  }
  return Tensor::from_doubles(like.type(), indices.dims(), values);
}

Tensor in_type(const Tensor& tensor, ElementType type) {
  return tensor.type() == type ? tensor : Tensor::from_doubles(type, tensor.dims(), tensor.to_doubles());
}

// The reference, in which one decision after the other is taken as the actual side took it.
class Retaking {
 public:
  Retaking(const NamedData& inputs, const ReferenceWithValues& reference, const Trace& actual,
           const Disagreement& disagreement, const CompareOptions& options)
      : inputs_(inputs),
        reference_(reference),
        actual_(actual),
        disagreement_(disagreement),
        options_(options),
        trace_(reference({})) {}

  bool can_run() const { return trace_.has_value(); }
  Trace trace() && { return std::move(*trace_); }
  // The decision that differs although what it read says that it must not; "" for none.
  const std::string& clear() const { return clear_; }

  // The tie, if the decision differs and is one; false if it differs and is none.
  bool take(const Node& node, std::optional<Decision>& tie) {
    const std::string& name = decision_of(node)->name;
    const Tensor* expected = tensor_in(*trace_, name);
    if (expected == nullptr) return true;
    const Tensor* got = tensor_in(actual_, name);
    if (got == nullptr) return guess(node, Tensor(*expected), tie);
    if (same_elements(*expected, *got)) return true;
    const auto operands = read(node);
    tie = find_tie(node, operands, *expected, *got);
    if (!tie && decides_exactly(node) && are_shown(node, operands)) clear_ = node.name;
    return tie && taken_.size() < 2 * kMostTaken && run_with(node, operands, in_type(*got, expected->type()));
  }

 private:
  using ManyOperands = std::vector<std::optional<DecisionInput>>;

  ManyOperands read(const Node& node) const {
    const Operands reader(inputs_, *trace_, actual_, options_);
    ManyOperands operands;
    for (const Value* input : node.inputs)
      operands.push_back(input == nullptr ? std::nullopt : reader.read(*input));
    return operands;
  }

  // Overlaps of boxes and steps of a scale are computed first, and that is rounded.
  static bool decides_exactly(const Node& node) { return !quantises(node) && node.op != "NonMaxSuppression"; }

  // Whether both sides show all that the node read: then no noise is the cause of what it decided.
  static bool are_shown(const Node& node, const ManyOperands& operands) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != nullptr && (!operands[i] || !operands[i]->is_shown)) return false;
    }
    return true;
  }

  // False if the reference cannot.
  bool run_with(const Node& node, const ManyOperands& operands, const Tensor& decision) {
    if (node.op == "TopK" && node.output(0) != nullptr) {
      const Tensor* selected = tensor_in(*trace_, node.output(0)->name);
      if (selected == nullptr) return false;
      taken_[node.output(0)->name] = values_at(node, *operands[0], *selected, decision);
    }
    taken_[decision_of(node)->name] = decision;
    auto trace = reference_(taken_);
    if (!trace) return false;
    trace_ = std::move(trace);
    return true;
  }

  bool guess(const Node& node, const Tensor& expected, std::optional<Decision>& tie) {
    const auto operands = read(node);
    Tensor best = expected;
    int64_t least = disagreement_(*trace_);
    for (const Flip& flip : near_ties(node, operands, expected, kMostGuesses - guesses_)) {
      if (least == 0) break;
      ++guesses_;
      const NamedData taken = taken_;
      const Trace before = *trace_;
      const Tensor next = flipped(best, flip);
      if (!run_with(node, operands, next)) return false;
      const int64_t left = disagreement_(*trace_);
      if (left < least) {
        least = left;
        best = next;
      } else {
        taken_ = taken;
        trace_ = before;
      }
    }
    if (!same_elements(best, expected)) tie = find_tie(node, operands, expected, best);
    return tie || same_elements(best, expected);
  }

  const NamedData& inputs_;
  const ReferenceWithValues& reference_;
  const Trace& actual_;
  const Disagreement& disagreement_;
  const CompareOptions& options_;
  std::optional<Trace> trace_;
  NamedData taken_;
  size_t guesses_ = 0;
  std::string clear_;
};

}  // namespace

Decisions::Decisions(const Graph& graph) : graph_(graph) {
  for (const auto& node : graph.nodes()) {
    if (is_decision(*node) && decision_of(*node) != nullptr) all_.push_back(node.get());
  }
}

std::vector<const Node*> Decisions::behind(const std::set<std::string>& values) const {
  if (all_.empty()) return {};
  std::vector<const Node*> found = all_;
  const auto nodes = nodes_behind(graph_, values);
  std::erase_if(found, [&](const Node* node) { return !nodes.contains(node); });
  return found;
}

std::set<std::string> Decisions::results() const {
  std::set<std::string> names;
  for (const Node* node : all_) {
    if (!quantises(*node)) names.insert(decision_of(*node)->name);
  }
  return names;
}

std::vector<std::string> Decisions::inside_bodies(const std::set<std::string>& values) const {
  std::vector<std::string> found;
  const auto behind = nodes_behind(graph_, values);
  for (const auto& node : graph_.nodes()) {
    if (node->regions.empty() || !behind.contains(node.get())) continue;
    for (const auto& [name, region] : node->regions) {
      for_each_graph(static_cast<const Graph&>(*region), [&](const Graph& body) {
        for (const auto& member : body.nodes()) {
          if (is_decision(*member))
            found.push_back(
                fmt::format("{} '{}' in {} '{}'", member->op, member->name, node->op, node->name));
        }
      });
    }
  }
  return found;
}

std::vector<std::string> Decisions::taps(const std::set<std::string>& values, bool quantised) const {
  std::vector<std::string> names;
  const auto add = [&](const Value* value) {
    if (value == nullptr || value->producer() == nullptr || &value->graph() != &value->producer()->graph())
      return;
    if (std::find(names.begin(), names.end(), value->name) == names.end()) names.push_back(value->name);
  };
  for (const Node* node : behind(values)) {
    if (quantises(*node) && !quantised) continue;
    for (const Value* input : node->inputs) add(input);
    for (const Value* output : node->outputs) add(output);
  }
  return names;
}

std::optional<Retaken> Decisions::retake(const std::set<std::string>& values, const NamedData& inputs,
                                         const ReferenceWithValues& reference, const Trace& actual,
                                         const Disagreement& disagreement, const CompareOptions& options,
                                         bool quantised) const {
  const auto decisions = behind(values);
  Retaking retaking(inputs, reference, actual, disagreement, options);
  if (!retaking.can_run()) return std::nullopt;
  std::vector<std::pair<const Node*, Decision>> ties;
  for (const Node* node : decisions) {
    if (quantises(*node) && !quantised) continue;
    std::optional<Decision> tie;
    if (!retaking.take(*node, tie)) return Retaken{std::nullopt, {}, retaking.clear()};
    if (tie) ties.emplace_back(node, std::move(*tie));
  }
  if (ties.empty()) return std::nullopt;
  Retaken result{std::move(retaking).trace(), {}, ""};
  for (const std::string& value : values) {
    const auto nodes = nodes_behind(graph_, {value});
    for (const auto& [node, tie] : ties) {
      if (nodes.contains(node)) result.decisions[value].push_back(tie);
    }
  }
  return result;
}

}  // namespace vernier
