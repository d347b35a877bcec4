// Reshape: the same elements under another shape. 0 copies a size of the input (unless allowzero), -1 takes
// what is left. Before opset 5 the shape was an attribute.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

std::optional<std::vector<Dim>> requested_shape(const InferContext& context) {
  if (context.version() >= 5) return context.dims(1);
  return to_shape(context.attribute<std::vector<int64_t>>("shape", {}));
}

Error does_not_fit(const Shape& input, const std::vector<Dim>& wanted) {
  return bad_input("cannot reshape {} to {}", shape_text(input), shape_text(wanted));
}

// Where the input's rank is unknown: nothing if it is needed.
std::optional<Shape> copy_zeros(std::vector<Dim> wanted, const std::optional<Shape>& input,
                                bool zero_is_zero) {
  if (zero_is_zero) return wanted;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != Dim(0)) continue;
    if (!input) return std::nullopt;
    if (i >= input->size())
      throw bad_input("size 0 at axis {} has no counterpart in the input {}", i, shape_text(*input));
    wanted[i] = (*input)[i];
  }
  return wanted;
}

// Gives what is left for the size -1.
Dim left_over(const InferContext& context, const std::vector<Dim>& wanted, const Dim& known) {
  const auto& input = context.shape(0);
  if (!input) return context.fresh("reshape");
  const Dim total = element_count(*input);
  if (known == Dim(0)) throw does_not_fit(*input, wanted);
  if (total.is_constant() && known.is_constant() && *total.constant() % *known.constant() != 0) {
    throw does_not_fit(*input, wanted);
  }
  return floordiv(total, known);
}

std::optional<Shape> reshaped(const InferContext& context, const std::vector<Dim>& wanted) {
  const auto& input = context.shape(0);
  auto result = copy_zeros(wanted, input, context.attribute<int64_t>("allowzero", 0) != 0);
  if (!result) return std::nullopt;
  Dim* open = nullptr;
  Dim known = 1;
  for (Dim& dim : *result) {
    if (dim != Dim(-1)) {
      known = known * checked_size(dim);
    } else if (open == nullptr) {
      open = &dim;
    } else {
      throw bad_input("more than one size is -1 in {}", shape_text(wanted));
    }
  }
  if (open != nullptr) {
    *open = left_over(context, wanted, known);
  } else if (input) {
    const Dim total = element_count(*input);
    if (total.is_constant() && known.is_constant() && total != known) throw does_not_fit(*input, wanted);
  }
  return result;
}

void infer_reshape(InferContext& context) {
  if (auto content = content_of(context, 0)) context.set_dims(0, std::move(content->elements));
  if (const auto wanted = requested_shape(context)) {
    return context.set_output(0, context.element(0), reshaped(context, *wanted));
  }
  const auto rank = list_length(context, 1);
  context.set_output(0, context.element(0),
                     rank ? std::optional(fresh_shape(context, *rank, "reshape")) : std::nullopt);
}

void reference_reshape(ReferenceContext& context) {
  context.emit(0, context.in(0).reshaped(context.out_dims(0)));
}

}  // namespace

void register_reshape(OpRegistry& registry) {
  registry.add({.op = "Reshape",
                .operands = {Role::kData, Role::kSizes},
                .optional_inputs = 1,
                .attributes = {{"allowzero", "INT"}, {"shape", "INTS"}, {"consumed_inputs", "INTS"}},
                .traits = kView,
                .since = {13, 1},
                .infer = infer_reshape,
                .reference = reference_reshape,
                .flops = no_flops});
}

}  // namespace vernier::ops
