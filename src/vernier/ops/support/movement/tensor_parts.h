// Parts of tensors along one axis: cutting them out and putting them together. Any element type.
#pragma once

#include "vernier/tensor/tensor.h"

namespace vernier::ops {

// The elements [begin, begin + length) along `axis`; the axis stays. Throws bad_input outside of the tensor.
Tensor slice_axis(const Tensor& tensor, int64_t axis, int64_t begin, int64_t length);
// The element at `index` along `axis`; the axis goes.
Tensor select_axis(const Tensor& tensor, int64_t axis, int64_t index);
// The parts one behind the other along an axis they have, in [-rank, rank). Throws bad_input where there is
// no part or the parts differ in type or in a size other than that of the axis.
Tensor concat_axis(std::span<const Tensor> parts, int64_t axis);
// The same along a new axis, in [-rank - 1, rank].
Tensor stack_axis(std::span<const Tensor> parts, int64_t axis);

}  // namespace vernier::ops
