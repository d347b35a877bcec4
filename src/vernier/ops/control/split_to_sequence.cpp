// SplitToSequence: cuts a tensor along an axis into parts of one size (split is a scalar; the last part may
// be smaller), of given sizes (split is a vector), or of size 1, which keepdims=0 drops.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier::ops {

namespace {

// The size of the parts along the axis, where all have the same.
std::optional<Dim> common_size(const InferContext& context, const Dim& length) {
  if (!context.has(1)) return Dim(1);
  const auto sizes = context.ints(1);
  if (!sizes || sizes->empty() || !context.shape(1)) return std::nullopt;
  const int64_t size = sizes->front();
  if (context.shape(1)->empty()) {
    return size > 0 && exact_quotient(length, size) ? std::optional<Dim>(size) : std::nullopt;
  }
  const bool equal = std::all_of(sizes->begin(), sizes->end(), [&](int64_t other) { return other == size; });
  return equal ? std::optional<Dim>(size) : std::nullopt;
}

bool drops_axis(const Node& node) {
  return node.input(1) == nullptr && integer_attribute(node, "keepdims") == 0;
}

void infer_split_to_sequence(InferContext& context) {
  const ElementType element = context.element(0);
  auto shape = context.shape(0);
  if (shape) {
    const int64_t axis =
        normalize_axis(context.attribute<int64_t>("axis", 0), static_cast<int64_t>(shape->size()));
    Dim& size = (*shape)[static_cast<size_t>(axis)];
    if (drops_axis(context.node()))
      shape->erase(shape->begin() + axis);
    else
      size = common_size(context, size).value_or(context.fresh("part"));
  }
  context.set_type(0, ValueType::sequence(ValueType::of(element, std::move(shape))));
}

std::vector<int64_t> part_sizes(const ReferenceContext& context, int64_t length) {
  if (context.has(1) && context.in(1).rank() > 0) {
    auto sizes = context.int_list(1);
    int64_t left = length;
    for (const int64_t size : sizes) {
      if (size < 0 || size > left) throw bad_input("the parts do not add up to {}", length);
      left -= size;
    }
    if (left != 0) throw bad_input("the parts do not add up to {}", length);
    return sizes;
  }
  const int64_t size = context.integer(1, 1);
  if (size <= 0) throw bad_input("parts of size {} are not possible", size);
  std::vector<int64_t> sizes(static_cast<size_t>(length / size), size);
  if (length % size != 0) sizes.push_back(length % size);
  return sizes;
}

void reference_split_to_sequence(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const int64_t axis = normalize_axis(context.attribute<int64_t>("axis", 0), input.rank());
  std::vector<Datum> parts;
  int64_t begin = 0;
  for (const int64_t size : part_sizes(context, input.dims()[static_cast<size_t>(axis)])) {
    parts.emplace_back(drops_axis(context.node()) ? select_axis(input, axis, begin)
                                                  : slice_axis(input, axis, begin, size));
    begin += size;
  }
  context.emit(0, Datum::of_sequence(std::move(parts)));
}

}  // namespace

void register_split_to_sequence(OpRegistry& registry) {
  registry.add({.op = "SplitToSequence",
                .operands = {Role::kData, Role::kSizes},
                .optional_inputs = 1,
                .attributes = {{"axis", "INT"}, {"keepdims", "INT"}},
                .traits = kDataMovement,
                .since = kNoNarrowFloats,
                .infer = infer_split_to_sequence,
                .reference = reference_split_to_sequence});
}

}  // namespace vernier::ops
