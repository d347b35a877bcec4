// EyeLike: a matrix of the input's sizes with ones on the k-th diagonal, of the type `dtype` or the input's.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

void infer_eye_like(InferContext& context) {
  const ElementType type = element_type_attribute(context.node(), "dtype", context.element(0));
  const auto& input = context.shape(0);
  if (input && input->size() != 2) throw bad_input("EyeLike needs a matrix, not {}", shape_text(*input));
  context.set_output(0, type, input ? *input : fresh_shape(context, 2, "eye"));
}

void reference_eye_like(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const int64_t rows = dims[0], columns = dims[1];
  const int64_t k = std::clamp(integer_attribute(context.node(), "k"), -rows, columns);
  std::vector<double> values(static_cast<size_t>(rows * columns));
  for (int64_t row = std::max<int64_t>(0, -k); row < std::min(rows, columns - k); ++row) {
    values[static_cast<size_t>(row * columns + row + k)] = 1;
  }
  context.store(0, values);
}

}  // namespace

void register_eye_like(OpRegistry& registry) {
  registry.add({.op = "EyeLike",
                .operands = {Role::kData},
                .attributes = {{"dtype", "INT"}, {"k", "INT"}},
                .traits = kRoundsNothing,
                .precision = PrecisionClass::kStatesType,
                .since = {22, 9},
                .infer = infer_eye_like,
                .reference = reference_eye_like,
                .flops = no_flops});
}

}  // namespace vernier::ops
