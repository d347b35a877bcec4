#include "vernier/ops/support/movement/tensor_parts.h"

#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

Dims with_size(Dims dims, size_t axis, int64_t size) {
  dims[axis] = size;
  return dims;
}

}  // namespace

Tensor slice_axis(const Tensor& tensor, int64_t axis, int64_t begin, int64_t length) {
  const auto at = static_cast<size_t>(normalize_axis(axis, tensor.rank()));
  const Dims& dims = tensor.dims();
  if (begin < 0 || length < 0 || begin > dims[at] || length > dims[at] - begin) {
    throw bad_input("elements [{}, {} + {}) along axis {} are outside of {}", begin, begin, length, axis,
                    dims_text(dims));
  }
  if (length == dims[at]) return tensor;
  Tensor part(tensor.type(), with_size(dims, at, length));
  const auto strides = strides_of(dims);
  copy_placed(tensor, {begin * strides[at], strides}, part, dense(part.dims()), part.dims());
  return part;
}

Tensor select_axis(const Tensor& tensor, int64_t axis, int64_t index) {
  const int64_t at = normalize_axis(axis, tensor.rank());
  Dims dims = tensor.dims();
  dims.erase(dims.begin() + at);
  return slice_axis(tensor, at, index, 1).reshaped(std::move(dims));
}

Tensor concat_axis(std::span<const Tensor> parts, int64_t axis) {
  if (parts.empty()) throw bad_input("there is nothing to concatenate");
  const auto at = static_cast<size_t>(normalize_axis(axis, parts[0].rank()));
  int64_t length = 0;
  for (const Tensor& part : parts) {
    const bool fits = part.type() == parts[0].type() && part.rank() == parts[0].rank() &&
                      with_size(part.dims(), at, 0) == with_size(parts[0].dims(), at, 0);
    if (!fits || __builtin_add_overflow(length, part.dims()[at], &length)) {
      throw bad_input("{}{} and {}{} cannot be put together along axis {}",
                      element_type_short_name(parts[0].type()), dims_text(parts[0].dims()),
                      element_type_short_name(part.type()), dims_text(part.dims()), axis);
    }
  }
  Tensor whole(parts[0].type(), with_size(parts[0].dims(), at, length));
  Placement target = dense(whole.dims());
  for (const Tensor& part : parts) {
    copy_placed(part, dense(part.dims()), whole, target, part.dims());
    target.offset += part.dims()[at] * target.strides[at];
  }
  return whole;
}

Tensor stack_axis(std::span<const Tensor> parts, int64_t axis) {
  if (parts.empty()) throw bad_input("there is nothing to stack");
  const int64_t at = normalize_axis(axis, parts[0].rank() + 1);
  std::vector<Tensor> with_axis;
  for (const Tensor& part : parts) {
    Dims dims = part.dims();
    dims.insert(dims.begin() + std::min(at, part.rank()), 1);
    with_axis.push_back(part.reshaped(std::move(dims)));
  }
  return concat_axis(with_axis, at);
}

}  // namespace vernier::ops
