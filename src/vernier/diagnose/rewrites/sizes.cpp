// Operators by which sizes and masks reach the values of a model, written by others.
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

// The elements along the axis, at the first place of all others. Nothing can be counted where another axis is
// empty.
Value* counted(Replacement& node, Value* value, int64_t rank, int64_t axis) {
  for (int64_t other = rank; other-- > 0;) {
    if (other != axis)
      value = node("Gather", {value, node.scalar(0, ElementType::kInt64)}, {{"axis", other}});
  }
  Value* truth = node.cast(value, ElementType::kBool);
  Value* ones = node.cast(node("Or", {truth, node("Not", {truth})}), ElementType::kInt64);
  return node.reduce("ReduceSum", ones, {0});
}

}  // namespace

bool write_shape(Replacement& node) {
  const Node& own = node.node();
  const auto& shape = own.input(0)->type.tensor.shape;
  if (own.op != "Shape" || !shape || node.type() == ElementType::kString) return false;
  const auto rank = static_cast<int64_t>(shape->size());
  const auto bound = [&](const char* name, int64_t otherwise) {
    const Attribute* held = own.find_attribute(name);
    const int64_t at = held == nullptr ? otherwise : held->get<int64_t>();
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  std::vector<Value*> sizes;
  for (int64_t axis = bound("start", 0); axis < bound("end", rank); ++axis) {
    const auto known = shape->at(static_cast<size_t>(axis)).constant();
    sizes.push_back(known ? node.ints({*known}) : counted(node, own.input(0), rank, axis));
  }
  if (sizes.empty()) return false;
  node("Concat", sizes, {{"axis", int64_t{0}}});
  return true;
}

bool write_where(Replacement& node) {
  const Node& own = node.node();
  const auto known = own.op == "Where" ? known_rank(*own.output(0)) : std::nullopt;
  constexpr int64_t kGatherElements = 11;
  if (!known || node.opset() < kGatherElements) return false;
  const auto rank = static_cast<int64_t>(*known);
  const auto as = [&](Value* value, Value* like) { return node("Expand", {value, node("Shape", {like})}); };
  Value* chosen = node.cast(own.input(0), ElementType::kInt64);
  Value* yes = as(as(own.input(1), own.input(2)), chosen);
  Value* both = node("Concat", {node.unsqueeze(as(own.input(2), yes), rank), node.unsqueeze(yes, rank)},
                     {{"axis", rank}});
  Value* found = node("GatherElements", {both, node.unsqueeze(as(chosen, yes), rank)}, {{"axis", rank}});
  node("Gather", {found, node.scalar(0, ElementType::kInt64)}, {{"axis", rank}});
  return true;
}

}  // namespace vernier
