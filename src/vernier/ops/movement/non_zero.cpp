// NonZero: the indices of the elements that are not zero, one column each, in row-major order. A scalar has
// no indices: its output has no rows.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

std::vector<bool> non_zero(const Tensor& tensor) {
  std::vector<bool> marks(static_cast<size_t>(tensor.size()));
  if (tensor.type() == ElementType::kString) {
    const auto values = tensor.values<std::string>();
    for (size_t i = 0; i < marks.size(); ++i) marks[i] = !values[i].empty();
  } else if (tensor.type() == ElementType::kUint64) {
    const auto values = tensor.values<uint64_t>();
    for (size_t i = 0; i < marks.size(); ++i) marks[i] = values[i] != 0;
  } else {
    const auto values = tensor.to_doubles();
    for (size_t i = 0; i < marks.size(); ++i) marks[i] = values[i] != 0;
  }
  return marks;
}

// The columns, row by row: [rank, count].
std::vector<int64_t> indices_of(const std::vector<bool>& marks, const Dims& dims) {
  const auto count = std::count(marks.begin(), marks.end(), true);
  std::vector<int64_t> indices(dims.size() * static_cast<size_t>(count));
  size_t element = 0;
  int64_t column = 0;
  for_each_index(dims, [&](const Dims& at) {
    if (!marks[element++]) return;
    for (size_t i = 0; i < dims.size(); ++i)
      indices[i * static_cast<size_t>(count) + static_cast<size_t>(column)] = at[i];
    ++column;
  });
  return indices;
}

void infer_non_zero(InferContext& context) {
  const auto& input = context.shape(0);
  const Dim rank = input ? Dim(static_cast<int64_t>(input->size())) : context.fresh("rank");
  context.set_output(0, ElementType::kInt64, Shape{rank, context.fresh("non_zero")});
  const auto content = content_of(context, 0);
  const auto known = content ? to_dims(content->elements) : std::nullopt;
  if (!known) return;
  std::vector<bool> marks;
  for (const int64_t value : *known) marks.push_back(value != 0);
  context.set_output(0, ElementType::kInt64, Shape{rank, std::count(marks.begin(), marks.end(), true)});
  context.set_dims(0, to_shape(indices_of(marks, content->dims)));
}

void reference_non_zero(ReferenceContext& context) {
  const auto marks = non_zero(context.in(0));
  const Dims dims = {context.in(0).rank(), std::count(marks.begin(), marks.end(), true)};
  context.store_ints(0, dims, indices_of(marks, context.dims(0)));
}

}  // namespace

void register_non_zero(OpRegistry& registry) {
  registry.add({.op = "NonZero",
                .operands = {Role::kData},
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_non_zero,
                .reference = reference_non_zero,
                .flops = no_flops});
}

}  // namespace vernier::ops
