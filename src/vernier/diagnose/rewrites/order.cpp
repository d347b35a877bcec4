// Operators that sort, with an order of their own among what is equal: the first comes first.
#include <numeric>

#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int64_t kElementsGathered = 11;  // the opset of GatherElements, GatherND and ScatterND

// Whether element j is before element i, at [.., i, j], as numbers that can be added.
Value* places(Replacement& node, Value* before) {
  return node.reduce("ReduceSum", node.cast(before, ElementType::kInt64), {-1}, false);
}

// True at [i, j] where j < i, of as many as the value has along the axis.
Value* earlier(Replacement& node, Value* value, int64_t axis) {
  const auto number = [&](int64_t value) {
    return node.scalar(static_cast<double>(value), ElementType::kInt64);
  };
  Value* length = node("Gather", {node("Shape", {value}), number(axis)});
  Value* count = node("Range", {number(0), length, number(1)});
  return node("Less", {node.unsqueeze(count, 0), node.unsqueeze(count, 1)});
}

// The transposition of so many axes that exchanges one with the last.
std::vector<int64_t> exchanged(int64_t rank, int64_t axis) {
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  return perm;
}

}  // namespace

// The first of the places at which the extremum is.
bool write_extremum(Replacement& node) {
  const Node& own = node.node();
  const bool is_largest = own.op == "ArgMax";
  if ((!is_largest && own.op != "ArgMin") || own.find_attribute("select_last_index") != nullptr) return false;
  const auto& shape = own.input(0)->type.tensor.shape;
  if (!shape || shape->empty()) return false;
  const auto rank = static_cast<int64_t>(shape->size());
  int64_t axis = ops::integer_attribute(own, "axis");
  if (axis < 0) axis += rank;
  const auto length = shape->at(static_cast<size_t>(axis)).constant();
  if (!length) return false;
  Value* extremum = node.reduce(is_largest ? "ReduceMax" : "ReduceMin", own.input(0), {axis});
  std::vector<int64_t> along(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(axis)] = *length;
  Value* places = node.reshape(node.count(*length), along);
  Value* candidates =
      node("Where", {node("Equal", {own.input(0), extremum}), places, node.ints({*length - 1})});
  node.reduce("ReduceMin", candidates, {axis}, ops::integer_attribute(own, "keepdims") != 0);
  return true;
}

// The elements get their places in the order that ONNX asks for, and TopK sorts these: no two are equal.
bool write_best(Replacement& node) {
  const Node& own = node.node();
  const auto& shape = own.input(0)->type.tensor.shape;
  if (own.op != "TopK" || node.opset() < kElementsGathered || own.output(1) == nullptr || !shape)
    return false;
  const auto rank = static_cast<int64_t>(shape->size());
  int64_t axis = ops::integer_attribute(own, "axis");
  if (axis < 0) axis += rank;
  const auto length = shape->at(static_cast<size_t>(axis)).constant();
  constexpr int64_t kMost = 2048;  // the table of pairs is held in memory
  if (length && *length > kMost) return false;
  const bool is_largest = ops::integer_attribute(own, "largest") != 0, is_last = axis == rank - 1;
  const auto turned = [&](Value* value) {
    return is_last ? value : node.transpose(value, exchanged(rank, axis));
  };
  Value* along = turned(own.input(0));
  Value *it = node.unsqueeze(along, rank), *other = node.unsqueeze(along, rank - 1);
  Value* ahead = node(is_largest ? "Greater" : "Less", {other, it});
  Value* tie = node("And", {node("Equal", {other, it}), earlier(node, own.input(0), axis)});
  Value* place = turned(places(node, node("Or", {ahead, tie})));
  node.same({is_largest ? node("Neg", {place}) : place, own.input(1)});
  node("GatherElements", {own.input(0), own.output(1)}, {{"axis", axis}});
  return true;
}

// Sorts behind it what was selected: by batch, class, score and box.
bool write_selection(Replacement& node) {
  const Node& own = node.node();
  if (own.op != "NonMaxSuppression" || node.opset() < kElementsGathered) return false;
  Value* rows = node.same(own.inputs);
  const auto column = [&](int64_t index) { return node.slice(rows, 1, index, index + 1); };
  Value* score = node.unsqueeze(node("GatherND", {own.input(1), rows}), 1);
  const auto across = [&](Value* value) { return node.transpose(value, {1, 0}); };
  const auto ahead = [&](const char* compare, Value* value, Value* tie) {
    Value* first = node(compare, {across(value), value});
    return node("Or", {first, node("And", {node("Equal", {across(value), value}), tie})});
  };
  Value* box = column(2);
  Value* before = ahead("Greater", score, node("Less", {across(box), box}));
  before = ahead("Less", column(0), ahead("Less", column(1), before));
  node("ScatterND", {rows, node.unsqueeze(places(node, before), 1), rows});
  return true;
}

}  // namespace vernier
