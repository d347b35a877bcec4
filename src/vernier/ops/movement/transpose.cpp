// Transpose: permutes the axes; without `perm` it reverses their order.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement.h"

namespace vernier::ops {

namespace {

std::vector<size_t> permutation(const Node& node, size_t rank) {
  std::vector<size_t> perm(rank);
  if (node.find_attribute("perm") == nullptr) {
    for (size_t i = 0; i < rank; ++i) perm[i] = rank - 1 - i;
    return perm;
  }
  const auto given = node.attribute<std::vector<int64_t>>("perm", {});
  if (given.size() != rank) throw bad_input("perm {} does not fit rank {}", dims_text(given), rank);
  std::vector<bool> taken(rank, false);
  for (size_t i = 0; i < rank; ++i) {
    perm[i] = static_cast<size_t>(normalize_axis(given[i], static_cast<int64_t>(rank)));
    if (taken[perm[i]]) throw bad_input("perm {} names an axis twice", dims_text(given));
    taken[perm[i]] = true;
  }
  return perm;
}

template <class T>
std::vector<T> permuted(const std::vector<T>& values, const std::vector<size_t>& perm) {
  std::vector<T> result;
  for (const size_t axis : perm) result.push_back(values[axis]);
  return result;
}

// True if only axes of size 1 change places among the others, so that no element moves.
bool keeps_order(const Dims& dims, const std::vector<size_t>& perm) {
  std::vector<size_t> wide;
  for (const size_t axis : perm) {
    if (dims[axis] != 1) wide.push_back(axis);
  }
  return std::is_sorted(wide.begin(), wide.end());
}

void infer(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const auto perm = permutation(context.node(), input->size());
  context.set_output(0, context.element(0), permuted(*input, perm));
  if (const auto content = content_of(context, 0)) {
    const Dims sizes = permuted(content->dims, perm);
    std::vector<Dim> moved(content->elements.size());
    copy_placed(content->elements, {0, permuted(strides_of(content->dims), perm)}, moved, dense(sizes),
                sizes);
    context.set_dims(0, std::move(moved));
  }
}

void reference(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const auto perm = permutation(context.node(), input.dims().size());
  const Dims sizes = permuted(input.dims(), perm);
  if (keeps_order(input.dims(), perm)) return context.emit(0, input.reshaped(sizes));
  copy_placed(input, {0, permuted(strides_of(input.dims()), perm)}, context.allocate(0, sizes), dense(sizes),
              sizes);
}

}  // namespace

void register_transpose(OpRegistry& registry) {
  registry.add({.op = "Transpose",
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = {{"perm", "INTS"}},
                .traits = kDataMovement,
                .infer = infer,
                .reference = reference,
                .flops = no_flops});
}

}  // namespace vernier::ops
