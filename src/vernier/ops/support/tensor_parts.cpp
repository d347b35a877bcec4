#include "vernier/ops/support/tensor_parts.h"

#include <cstring>

#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/strides.h"

namespace vernier::ops {

namespace {

void copy_elements(const Tensor& from, int64_t from_at, Tensor& to, int64_t to_at, int64_t count) {
  if (count == 0) return;
  if (from.type() == ElementType::kString) {
    std::copy_n(from.values<std::string>().begin() + from_at, count,
                to.mutable_values<std::string>().begin() + to_at);
    return;
  }
  const size_t size = element_size(from.type());
  std::memcpy(static_cast<std::byte*>(to.mutable_raw()) + static_cast<size_t>(to_at) * size,
              from.bytes().data() + static_cast<size_t>(from_at) * size, static_cast<size_t>(count) * size);
}

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
  if (part.size() == 0) return part;
  const int64_t outer = product(dims, 0, at), inner = product(dims, at + 1, dims.size());
  for (int64_t o = 0; o < outer; ++o) {
    copy_elements(tensor, (o * dims[at] + begin) * inner, part, o * length * inner, length * inner);
  }
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
  if (whole.size() == 0) return whole;
  const Dims& dims = whole.dims();
  const int64_t outer = product(dims, 0, at), inner = product(dims, at + 1, dims.size());
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    const int64_t block = part.dims()[at] * inner;
    for (int64_t o = 0; o < outer; ++o)
      copy_elements(part, o * block, whole, (o * length + begin) * inner, block);
    begin += part.dims()[at];
  }
  return whole;
}

Tensor stack_axis(std::span<const Tensor> parts, int64_t axis) {
  if (parts.empty()) throw bad_input("there is nothing to stack");
  const int64_t at = normalize_axis(axis, parts[0].rank() + 1);
  std::vector<Tensor> widened;
  for (const Tensor& part : parts) {
    Dims dims = part.dims();
    dims.insert(dims.begin() + std::min(at, part.rank()), 1);
    widened.push_back(part.reshaped(std::move(dims)));
  }
  return concat_axis(widened, at);
}

}  // namespace vernier::ops
