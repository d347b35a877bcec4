#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

bool write_gather(Replacement& node) {
  const Node& own = node.node();
  const auto rank = known_rank(*own.input(0)), count = known_rank(*own.input(1));
  constexpr int64_t kTuples = 11;  // the opset of GatherND
  if (!rank || !count || node.opset() < kTuples) return false;
  int64_t axis = ops::integer_attribute(own, "axis");
  const auto all = static_cast<int64_t>(*rank), indexed = static_cast<int64_t>(*count);
  if (axis < 0) axis += all;
  Value* data = own.input(0);
  if (axis > 0) {
    std::vector<int64_t> perm{axis};
    for (int64_t i = 0; i < all; ++i) {
      if (i != axis) perm.push_back(i);
    }
    data = node.transpose(data, perm);
  }
  // Each index becomes a tuple of one.
  Value* indices = own.input(1);
  if (indices->type.tensor.element != ElementType::kInt64) indices = node.cast(indices, ElementType::kInt64);
  Value* result = node("GatherND", {data, node.unsqueeze(indices, indexed)});
  if (axis == 0) return true;
  // The axes of the indices lead; those before `axis` go back before them.
  std::vector<int64_t> back;
  for (int64_t i = 0; i < axis; ++i) back.push_back(indexed + i);
  for (int64_t i = 0; i < indexed; ++i) back.push_back(i);
  for (int64_t i = indexed + axis; i < indexed + all - 1; ++i) back.push_back(i);
  node.transpose(result, back);
  return true;
}

std::optional<std::vector<int64_t>> whole_numbers(const Node& own, size_t index, const char* attribute) {
  if (const Attribute* held = own.find_attribute(attribute); held != nullptr)
    return held->get<std::vector<int64_t>>();
  const Tensor* held = constant_of(own.input(index));
  return held == nullptr ? std::nullopt : std::optional(held->to_ints());
}

bool write_slice(Replacement& node) {
  const Node& own = node.node();
  const auto starts = whole_numbers(own, 1, "starts"), ends = whole_numbers(own, 2, "ends");
  if (!starts || !ends || !own.input(0)->type.tensor.shape) return false;
  auto axes = whole_numbers(own, 3, "axes"), steps = whole_numbers(own, 4, "steps");
  const Shape& shape = *own.input(0)->type.tensor.shape;
  Value* result = own.input(0);
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    if (axis < 0) axis += static_cast<int64_t>(shape.size());
    const auto size = shape.at(static_cast<size_t>(axis)).constant();
    const int64_t step = steps ? (*steps)[i] : 1;
    if (!size || step == 0) return false;
    const auto within = [&](int64_t at, int64_t least, int64_t most) {
      return std::clamp(at < 0 ? at + *size : at, least, most);
    };
    const int64_t begin = step > 0 ? within((*starts)[i], 0, *size) : within((*starts)[i], 0, *size - 1);
    const int64_t end = step > 0 ? within((*ends)[i], 0, *size) : within((*ends)[i], -1, *size - 1);
    std::vector<int64_t> places;
    for (int64_t at = begin; step > 0 ? at < end : at > end; at += step) places.push_back(at);
    result = node("Gather", {result, node.ints(places)}, {{"axis", axis}});
  }
  return result != own.input(0);
}

}  // namespace

bool write_indices(Replacement& node) {
  if (node.node().op == "Gather") return write_gather(node);
  return node.node().op == "Slice" && write_slice(node);
}

}  // namespace vernier
