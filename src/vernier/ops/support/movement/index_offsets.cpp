#include "vernier/ops/support/movement/index_offsets.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

IndexedBlocks axis_offsets(const Dims& data, size_t axis, std::span<const int64_t> indices) {
  IndexedBlocks result;
  result.block = product(data, axis + 1, data.size());
  const int64_t outer = product(data, 0, axis);
  std::vector<int64_t> row;
  for (const int64_t index : indices) row.push_back(normalize_index(index, data[axis]) * result.block);
  if (row.empty() || result.block == 0) return result;
  result.offsets.reserve(row.size() * static_cast<size_t>(outer));
  for (int64_t i = 0; i < outer; ++i) {
    for (const int64_t offset : row) result.offsets.push_back(i * data[axis] * result.block + offset);
  }
  return result;
}

Shape gathered_shape(const Shape& data, size_t axis, const Shape& indices) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  Shape result(data.begin(), data.begin() + at);
  result.insert(result.end(), indices.begin(), indices.end());
  result.insert(result.end(), data.begin() + at + 1, data.end());
  return result;
}

void require_indices_fit(const Node& node, const std::optional<Shape>& data,
                         const std::optional<Shape>& indices) {
  if (!data || !indices) return;
  if (data->size() != indices->size())
    throw bad_input("indices {} must have the rank of the data {}", shape_text(*indices), shape_text(*data));
  const auto axis = static_cast<size_t>(
      normalize_axis(integer_attribute(node, "axis"), static_cast<int64_t>(data->size())));
  for (size_t i = 0; i < data->size(); ++i) {
    const auto size = (*data)[i].constant(), indexed = (*indices)[i].constant();
    if (i != axis && size && indexed && *indexed > *size)
      throw bad_input("indices {} reach beyond the data {}", shape_text(*indices), shape_text(*data));
  }
}

IndexedBlocks element_offsets(const Dims& data, size_t axis, const Dims& index_dims,
                              std::span<const int64_t> indices) {
  if (index_dims.size() != data.size()) {
    throw bad_input("indices {} must have the rank of the data {}", dims_text(index_dims), dims_text(data));
  }
  for (size_t i = 0; i < data.size(); ++i) {
    if (i != axis && index_dims[i] > data[i]) {
      throw bad_input("indices {} reach beyond the data {}", dims_text(index_dims), dims_text(data));
    }
  }
  const auto strides = strides_of(data);
  IndexedBlocks result;
  result.offsets.reserve(indices.size());
  for_each_index(index_dims, [&](const Dims& at) {
    const int64_t index = normalize_index(indices[result.offsets.size()], data[axis]);
    int64_t offset = index * strides[axis];
    for (size_t i = 0; i < at.size(); ++i) {
      if (i != axis) offset += at[i] * strides[i];
    }
    result.offsets.push_back(offset);
  });
  return result;
}

IndexedBlocks tuple_offsets(const Dims& data, int64_t batch_dims, const Dims& index_dims,
                            std::span<const int64_t> indices) {
  const auto batches = static_cast<size_t>(batch_dims);
  if (batch_dims < 0 || index_dims.size() <= batches || data.size() < batches) {
    throw bad_input("batch_dims {} does not fit data {} and indices {}", batch_dims, dims_text(data),
                    dims_text(index_dims));
  }
  const auto length = static_cast<size_t>(index_dims.back());
  if (batches + length > data.size() ||
      !std::equal(data.begin(), data.begin() + batch_dims, index_dims.begin())) {
    throw bad_input("indices {} do not fit data {} with {} batch axes", dims_text(index_dims),
                    dims_text(data), batch_dims);
  }
  const auto strides = strides_of(data);
  const size_t indexed = batches + length;
  const int64_t tuples = product(index_dims, 0, index_dims.size() - 1);
  const int64_t tuples_per_batch = product(index_dims, batches, index_dims.size() - 1);
  const int64_t elements_per_batch = product(data, batches, data.size());
  IndexedBlocks result;
  result.block = product(data, indexed, data.size());
  result.offsets.resize(static_cast<size_t>(tuples));
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t offset = tuple / tuples_per_batch * elements_per_batch;
    for (size_t i = 0; i < length; ++i) {
      const int64_t index = indices[static_cast<size_t>(tuple) * length + i];
      offset += normalize_index(index, data[batches + i]) * strides[batches + i];
    }
    result.offsets[static_cast<size_t>(tuple)] = offset;
  }
  return result;
}

}  // namespace vernier::ops
