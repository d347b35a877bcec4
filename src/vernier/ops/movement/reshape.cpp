// Reshape: the same elements under another shape. 0 copies a size of the input (unless allowzero), -1 takes what is left.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/op_def.h"

namespace vernier::ops {

namespace {

std::optional<std::vector<Dim>> requested_shape(const InferContext& context) {
  if (context.version() >= 5) return context.has(1) ? context.dims(1) : std::nullopt;
  const auto sizes = context.attribute<std::vector<int64_t>>("shape", {});
  return Shape(sizes.begin(), sizes.end());
}

void infer(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  if (const auto& content = context.dims(0)) context.set_dims(0, *content);
  const auto& input = context.shape(0);
  auto wanted = requested_shape(context);
  if (!wanted) {
    // The rank at least is the length of the shape tensor.
    if (context.version() >= 5 && context.shape(1) && context.shape(1)->size() == 1 && (*context.shape(1))[0].is_constant()) {
      Shape unknown;
      for (int64_t i = 0; i < *(*context.shape(1))[0].constant(); ++i) unknown.push_back(context.fresh("reshape"));
      context.set_output(0, context.element(0), std::move(unknown));
    }
    return;
  }
  const bool zero_is_zero = context.attribute<int64_t>("allowzero", 0) != 0;
  Shape result;
  std::optional<size_t> inferred;
  Dim known = 1;
  for (size_t i = 0; i < wanted->size(); ++i) {
    Dim dim = (*wanted)[i];
    if (dim == Dim(0) && !zero_is_zero) {
      if (!input) return;
      if (i >= input->size()) throw bad_input("size 0 at axis {} has no counterpart in the input {}", i, shape_text(*input));
      dim = (*input)[i];
    }
    if (dim == Dim(-1)) {
      if (inferred) throw bad_input("more than one size is -1 in {}", shape_text(*wanted));
      inferred = i;
    } else {
      known = known * dim;
    }
    result.push_back(dim);
  }
  if (inferred) {
    if (!input) {
      result[*inferred] = context.fresh("reshape");
    } else {
      const Dim total = element_count(*input);
      if (known == Dim(0) || (total.is_constant() && known.is_constant() && *total.constant() % *known.constant() != 0)) {
        throw bad_input("cannot reshape {} to {}", shape_text(*input), shape_text(*wanted));
      }
      result[*inferred] = floordiv(total, known);
    }
  } else if (input) {
    const Dim total = element_count(*input);
    if (total.is_constant() && known.is_constant() && total != known) {
      throw bad_input("cannot reshape {} to {}", shape_text(*input), shape_text(*wanted));
    }
  }
  context.set_output(0, context.element(0), std::move(result));
}

void reference(ReferenceContext& context) { context.emit(0, context.in(0).reshaped(context.out_dims(0))); }

}  // namespace

void register_reshape(OpRegistry& registry) {
  registry.add({.op = "Reshape", .min_inputs = 1, .max_inputs = 2,
                .attributes = {{"allowzero", "INT"}, {"shape", "INTS"}, {"consumed_inputs", "INTS"}},
                .traits = kView, .infer = infer, .reference = reference});
}

}  // namespace vernier::ops
