// Index tensors as offsets into the data they point into: what gathering and scattering have in common.
// Indices may be negative, counting from the back; one outside of its axis throws bad_input.
#pragma once

#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

// Offsets of blocks of `block` elements.
struct IndexedBlocks {
  std::vector<int64_t> offsets;
  int64_t block = 1;
};

// Gather: for every index over the axes before `axis`, each of `indices` in turn; a block is what follows the
// axis.
IndexedBlocks axis_offsets(const Dims& data, size_t axis, std::span<const int64_t> indices);
// Sizes of what Gather gives.
Shape gathered_shape(const Shape& data, size_t axis, const Shape& indices);
// GatherElements and ScatterElements: throws bad_input where known sizes do not fit: the ranks are equal, and
// indices reach beyond the data along the axis only, which is `axis` of the node.
void require_indices_fit(const Node& node, const std::optional<Shape>& data,
                         const std::optional<Shape>& indices);
// GatherElements and ScatterElements: element (i, …) of `indices` replaces the index along `axis` by its
// value.
IndexedBlocks element_offsets(const Dims& data, size_t axis, const Dims& index_dims,
                              std::span<const int64_t> indices);
// GatherND and ScatterND: the last axis of `indices` holds index tuples, after `batch_dims` axes shared with
// the data.
IndexedBlocks tuple_offsets(const Dims& data, int64_t batch_dims, const Dims& index_dims,
                            std::span<const int64_t> indices);

}  // namespace vernier::ops
