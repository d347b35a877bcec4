// TensorScatter: writes an update into a cache along the sequence axis, at one position per batch entry
// (opset 24); "circular" positions wrap around.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

size_t sequence_axis(const Node& node, const Dims& cache, const Dims& update) {
  const auto axis = static_cast<size_t>(
      normalize_axis(node.attribute<int64_t>("axis", -2), static_cast<int64_t>(cache.size())));
  if (axis == 0) throw bad_input("the axis of TensorScatter must not be the batch axis 0");
  Dims expected = cache;
  if (update.size() == cache.size() && update[axis] <= cache[axis]) expected[axis] = update[axis];
  if (update != expected)
    throw bad_input("update {} does not fit the cache {}", dims_text(update), dims_text(cache));
  return axis;
}

void infer_tensor_scatter(InferContext& context) {
  context.set_type(0, ValueType::of(context.element(0), context.shape(0)));
  if (context.element(1) != context.element(0)) throw bad_input("update and cache are of different types");
  const auto cache = known_dims(context, 0), update = known_dims(context, 1);
  if (cache && update) sequence_axis(context.node(), *cache, *update);
}

// The positions that each batch entry writes first.
std::vector<int64_t> write_positions(const ReferenceContext& context, int64_t batch) {
  if (!context.has(2)) return std::vector<int64_t>(static_cast<size_t>(batch), 0);
  auto positions = context.int_list(2);
  if (static_cast<int64_t>(positions.size()) != batch) {
    throw bad_input("there are {} write indices for a batch of {}", positions.size(), batch);
  }
  return positions;
}

int64_t position(int64_t start, int64_t step, int64_t length, bool circular) {
  if (circular) return ((start % length + step) % length + length) % length;
  if (start < 0 || start >= length - step) {
    throw bad_input("write index {} + {} is outside of a cache of {}", start, step, length);
  }
  return start + step;
}

void reference_tensor_scatter(ReferenceContext& context) {
  const Dims &cache = context.dims(0), &update = context.dims(1);
  const size_t axis = sequence_axis(context.node(), cache, update);
  const auto mode = context.attribute<std::string>("mode", "linear");
  if (mode != "linear" && mode != "circular")
    throw bad_input("mode '{}' is neither linear nor circular", mode);
  const auto starts = write_positions(context, cache[0]);
  const int64_t block = product(cache, axis + 1, cache.size()), per_batch = product(cache, 1, axis);
  std::vector<int64_t> offsets;
  if (element_count(update) == 0) return context.emit(0, context.in(0));
  for (int64_t row = 0; row < cache[0] * per_batch; ++row) {
    for (int64_t step = 0; step < update[axis]; ++step) {
      const int64_t start = starts[static_cast<size_t>(row / per_batch)];
      offsets.push_back((row * cache[axis] + position(start, step, cache[axis], mode == "circular")) * block);
    }
  }
  Tensor result = stored_as(context.in(0), context.out_storage(0));
  scatter_blocks(stored_as(context.in(1), result.type()), offsets, block, result);
  context.emit(0, std::move(result));
}

}  // namespace

void register_tensor_scatter(OpRegistry& registry) {
  registry.add({.op = "TensorScatter",
                .operands = {Role::kData, Role::kData, Role::kIndices},
                .optional_inputs = 1,
                .attributes = {{"axis", "INT"}, {"mode", "STRING"}},
                .traits = kDataMovement,
                .since = {24, 24},
                .infer = infer_tensor_scatter,
                .reference = reference_tensor_scatter,
                .flops = no_flops});
}

}  // namespace vernier::ops
