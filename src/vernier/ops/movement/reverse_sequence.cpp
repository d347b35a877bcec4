// ReverseSequence: reverses, for every batch entry, the first `sequence_lens` elements of the time axis.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

// Axis of time, 0 or 1; the other is the batch.
size_t time_axis(const Node& node) {
  const int64_t time = integer_attribute(node, "time_axis"), batch = node.attribute<int64_t>("batch_axis", 1);
  if (time < 0 || time > 1 || batch != 1 - time) {
    throw bad_input("time_axis {} and batch_axis {} must be 0 and 1 in some order", time, batch);
  }
  return static_cast<size_t>(time);
}

void infer_reverse_sequence(InferContext& context) {
  const size_t time = time_axis(context.node());
  const auto& input = context.shape(0);
  if (input && input->size() < 2)
    throw bad_input("ReverseSequence needs two axes, not {}", shape_text(*input));
  if (input) require_shape(context, 1, {(*input)[1 - time]});
  context.set_type(0, context.type(0));
}

void reference_reverse_sequence(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const size_t time = time_axis(context.node());
  const auto lengths = context.int_list(1);
  if (static_cast<int64_t>(lengths.size()) != dims[1 - time]) {
    throw bad_input("there are {} sequence lengths for a batch of {}", lengths.size(), dims[1 - time]);
  }
  for (const int64_t length : lengths) {
    if (length < 0 || length > dims[time])
      throw bad_input("sequence length {} is not in [0, {}]", length, dims[time]);
  }
  const int64_t block = product(dims, 2, dims.size());
  std::vector<int64_t> offsets;
  if (element_count(dims) > 0) {
    for (int64_t i = 0; i < dims[0]; ++i) {
      for (int64_t j = 0; j < dims[1]; ++j) {
        const int64_t at = time == 0 ? i : j, length = lengths[static_cast<size_t>(time == 0 ? j : i)];
        const int64_t from = at < length ? length - 1 - at : at;
        offsets.push_back((time == 0 ? from * dims[1] + j : i * dims[1] + from) * block);
      }
    }
  }
  gather_blocks(context.in(0), offsets, block, context.allocate(0));
}

}  // namespace

void register_reverse_sequence(OpRegistry& registry) {
  registry.add({.op = "ReverseSequence",
                .operands = {Role::kData, Role::kLengths},
                .attributes = {{"batch_axis", "INT"}, {"time_axis", "INT"}},
                .traits = kDataMovement,
                .since = {0, 10},
                .infer = infer_reverse_sequence,
                .reference = reference_reverse_sequence,
                .flops = no_flops});
}

}  // namespace vernier::ops
