#include "vernier/reduce/steps/extent.h"

#include <algorithm>
#include <array>

#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier {

namespace {

// Attributes that say sizes or counts. Others, such as axes and strides, say none.
constexpr std::array<std::string_view, 11> kSizes = {
    "group",        "hidden_size", "kernel_shape", "kv_num_heads", "num_heads", "num_outputs",
    "output_shape", "q_num_heads", "shape",        "split",        "block_size"};

constexpr int64_t kMostEntries = 8;  // of a constant that may hold sizes

bool may_hold_sizes(const Tensor& tensor) {
  return (tensor.type() == ElementType::kInt64 || tensor.type() == ElementType::kInt32) &&
         tensor.rank() <= 1 && tensor.size() <= kMostEntries;
}

void add_axes(std::vector<Extent>& extents, const std::string& name, const Tensor& tensor) {
  for (size_t axis = 0; axis < tensor.dims().size(); ++axis) {
    if (tensor.dims()[axis] > 1)
      extents.push_back({Extent::Kind::kAxis, name, "", axis, tensor.dims()[axis]});
  }
}

void add_entries(std::vector<Extent>& extents, const std::string& name, const Tensor& tensor) {
  const auto entries = tensor.to_ints();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] > 1) extents.push_back({Extent::Kind::kEntry, name, "", i, entries[i]});
  }
}

void add_attributes(std::vector<Extent>& extents, const Node& node) {
  for (const std::string_view name : kSizes) {
    const Attribute* attribute = node.find_attribute(name);
    if (attribute == nullptr) continue;
    std::vector<int64_t> sizes;
    if (const auto* one = std::get_if<int64_t>(&attribute->value())) sizes = {*one};
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute->value())) sizes = *list;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > 1)
        extents.push_back({Extent::Kind::kAttribute, node.name, std::string(name), i, sizes[i]});
    }
  }
}

Tensor cut(const Tensor& tensor, size_t axis, int64_t from, int64_t to, int64_t first) {
  std::vector<Tensor> parts;
  const auto along = static_cast<int64_t>(axis);
  for (int64_t begin = 0; begin < tensor.dims()[axis]; begin += from)
    parts.push_back(ops::slice_axis(tensor, along, begin + first, to));
  return parts.size() == 1 ? parts[0] : ops::concat_axis(parts, along);
}

void resize_attribute(Attribute& attribute, size_t index, int64_t size) {
  if (std::holds_alternative<int64_t>(attribute.value())) {
    attribute = size;
    return;
  }
  auto sizes = attribute.get<std::vector<int64_t>>();
  sizes.at(index) = size;
  attribute = std::move(sizes);
}

}  // namespace

std::vector<Extent> extents_of(const ReproCase& whole) {
  std::vector<Extent> extents;
  for (const auto& [name, datum] : whole.inputs) {
    if (datum.is_tensor() && datum.tensor.is_defined()) add_axes(extents, name, datum.tensor);
  }
  for (const auto& value : whole.model.graph->values()) {
    if (!value->is_constant() || whole.inputs.contains(value->name)) continue;
    if (may_hold_sizes(*value->constant))
      add_entries(extents, value->name, *value->constant);
    else
      add_axes(extents, value->name, *value->constant);
  }
  for (const auto& node : whole.model.graph->nodes()) add_attributes(extents, *node);
  return extents;
}

void resize(ReproCase& whole, const Extent& extent, int64_t from, int64_t to, int64_t first) {
  const int64_t size = extent.size / from * to;
  Graph& graph = *whole.model.graph;
  if (extent.kind == Extent::Kind::kAttribute) {
    for (const auto& node : graph.nodes()) {
      if (node->name == extent.name)
        resize_attribute(node->attributes.at(extent.attribute), extent.index, size);
    }
    return;
  }
  const auto given = whole.inputs.find(extent.name);
  Tensor& tensor =
      given != whole.inputs.end() ? given->second.tensor : *find_value(graph, extent.name)->constant;
  if (extent.kind == Extent::Kind::kAxis) {
    tensor = cut(tensor, extent.index, from, to, first);
    return;
  }
  auto entries = tensor.to_ints();
  entries.at(extent.index) = size;
  tensor = Tensor::from_ints(tensor.type(), tensor.dims(), entries);
}

}  // namespace vernier
