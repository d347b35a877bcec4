#include "vernier/run/retaking.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/run/decision_operands.h"
#include "vernier/run/near_ties.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

// Runs of the reference for one sample: to take what is shown, and to find out what is not.
constexpr size_t kMostTaken = 16, kMostGuesses = 12;

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dims() == b.dims() && a.to_doubles() == b.to_doubles();
}

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

// Overlaps of boxes and steps of a scale are computed first, and that is rounded.
bool decides_exactly(const Node& node) {
  return !quantizes(node) && node.op != "NonMaxSuppression";
}

// Whether both sides show all that the node read: then no noise is the cause of what it decided.
bool are_shown(const Node& node, const std::vector<std::optional<DecisionInput>>& operands) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != nullptr && (!operands[i] || !operands[i]->is_shown)) return false;
  }
  return true;
}

}  // namespace

Retaking::Retaking(const NamedData& inputs, const ReferenceWithValues& reference, const Trace& actual,
                   const Disagreement& disagreement, const CompareOptions& options)
    : inputs_(inputs),
      reference_(reference),
      actual_(actual),
      disagreement_(disagreement),
      options_(options),
      trace_(reference({})) {}

bool Retaking::take(const Node& node, std::optional<Decision>& tie) {
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

Retaking::ManyOperands Retaking::read(const Node& node) const {
  const DecisionOperands reader(inputs_, *trace_, actual_, options_);
  ManyOperands operands;
  for (const Value* input : node.inputs)
    operands.push_back(input == nullptr ? std::nullopt : reader.read(*input));
  return operands;
}

bool Retaking::run_with(const Node& node, const ManyOperands& operands, const Tensor& decision) {
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

bool Retaking::guess(const Node& node, const Tensor& expected, std::optional<Decision>& tie) {
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

}  // namespace vernier
