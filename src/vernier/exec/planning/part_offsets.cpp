#include "vernier/exec/planning/part_offsets.h"

#include <numeric>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/slice_axis.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier {

namespace {

using Ints = std::vector<int64_t>;

std::optional<Dims> dims_of(const Value* value) {
  if (value == nullptr || !value->type.is_tensor() || !value->type.tensor.shape) return std::nullopt;
  return to_dims(*value->type.tensor.shape);
}

size_t axis_of(const Node& node, const Dims& dims) {
  return static_cast<size_t>(
      ops::normalize_axis(ops::integer_attribute(node, "axis"), static_cast<int64_t>(dims.size())));
}

// Whether a box of sizes `part` is one run of an array of sizes `whole`: behind the first axis that it has
// more than one element of, it has all.
bool is_run(const Dims& part, const Dims& whole) {
  size_t axis = 0;
  while (axis < part.size() && part[axis] == 1) ++axis;
  for (++axis; axis < part.size(); ++axis) {
    if (part[axis] != whole[axis]) return false;
  }
  return element_count(part) > 0;
}

std::optional<Ints> split_offsets(const Node& node, const Dims& x) {
  const size_t axis = axis_of(node, x);
  if (ops::product(x, 0, axis) != 1) return std::nullopt;
  Ints offsets;
  int64_t offset = 0;
  for (const Value* output : node.outputs) {
    const auto part = dims_of(output);
    if (!part || element_count(*part) == 0) return std::nullopt;
    offsets.push_back(offset);
    offset += element_count(*part);
  }
  return offsets;
}

std::optional<Ints> gather_offsets(const Node& node, const Dims& x) {
  const Value* index = node.input(1);
  const size_t axis = axis_of(node, x);
  if (index == nullptr || !index->is_constant() || index->constant->size() != 1 ||
      ops::product(x, 0, axis) != 1 || ops::product(x, axis + 1, x.size()) == 0)
    return std::nullopt;
  const int64_t at = index->constant->to_ints()[0];
  if (at < -x[axis] || at >= x[axis]) return std::nullopt;  // refused where it runs
  return Ints{(at < 0 ? at + x[axis] : at) * ops::product(x, axis + 1, x.size())};
}

// A list of limits: nothing if it is not known, `fallback` where it is left out.
std::optional<Ints> limits(const Node& node, const char* attribute, size_t input, const Ints& fallback) {
  if (node.version < 10)
    return node.find_attribute(attribute) == nullptr ? fallback : node.attribute<Ints>(attribute, {});
  const Value* value = node.input(input);
  if (value == nullptr) return fallback;
  if (!value->is_constant()) return std::nullopt;
  return value->constant->to_ints();
}

std::optional<Ints> slice_offsets(const Node& node, const Dims& x, const Dims& y) {
  const auto starts = limits(node, "starts", 1, {});
  if (!starts || !is_run(y, x)) return std::nullopt;
  Ints first(starts->size());
  std::iota(first.begin(), first.end(), 0);
  const auto axes = limits(node, "axes", 3, first), steps = limits(node, "steps", 4, Ints(starts->size(), 1));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size())
    return std::nullopt;
  const auto strides = ops::strides_of(x);
  Ints offsets(x.size(), 0);  // by axis
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis = static_cast<size_t>(ops::normalize_axis((*axes)[i], static_cast<int64_t>(x.size())));
    if ((*steps)[i] != 1 && y[axis] != 1) return std::nullopt;
    offsets[axis] = ops::slice_start((*starts)[i], (*steps)[i], x[axis]) * strides[axis];
  }
  return Ints{std::accumulate(offsets.begin(), offsets.end(), int64_t{0})};
}

}  // namespace

std::optional<Ints> part_offsets(const Node& node) {
  if (!node.domain.empty() || node.outputs.empty()) return std::nullopt;
  const auto x = dims_of(node.input(0)), y = dims_of(node.output(0));
  if (!x || !y || node.input(0)->type.tensor.element == ElementType::kString) return std::nullopt;
  if (node.op == "Split") return split_offsets(node, *x);
  if (node.op == "Slice") return slice_offsets(node, *x, *y);
  if (node.op == "Gather") return gather_offsets(node, *x);
  return std::nullopt;
}

bool lies_in_parts(const Node& node) {
  if (!node.domain.empty() || node.op != "Concat") return false;
  const auto y = dims_of(node.output(0));
  return y && ops::product(*y, 0, axis_of(node, *y)) == 1;
}

}  // namespace vernier
