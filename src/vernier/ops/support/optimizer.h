// One step of an optimizer takes (rate R, update count T, tensors to optimize, their gradients, then one
// group for each kind of state) and (new tensors, one group for each kind of new state).
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// Tensors in each of `groups` groups of inputs. Throws bad_input where the inputs do not divide into them.
inline size_t optimized_tensors(size_t inputs, size_t groups) {
  if (inputs < 2 + groups || (inputs - 2) % groups != 0)
    throw bad_input("{} inputs are not R, T and {} groups of tensors", inputs, groups);
  return (inputs - 2) / groups;
}

// Each output has the type of what it replaces; gradients are not replaced.
template <size_t Groups>
void infer_optimizer(InferContext& context) {
  const size_t count = optimized_tensors(context.input_count(), Groups);
  if (context.output_count() > count * (Groups - 1))
    throw bad_input("{} has {} outputs for {} tensors", context.node().op, context.output_count(), count);
  for (size_t i = 0; i < context.output_count(); ++i) {
    const size_t input = 2 + (i < count ? i : i + count);
    context.set_output(i, context.element(input), context.shape(input));
  }
}

// Calls step(values) for each element, where values are those of one element in the order of the groups:
// tensor, gradient, states. The step replaces the tensor and the states.
template <size_t Groups, class Step>
void run_optimizer(ReferenceContext& context, Step step) {
  const size_t count = optimized_tensors(context.input_count(), Groups);
  for (size_t tensor = 0; tensor < count; ++tensor) {
    std::array<std::vector<double>, Groups> groups;
    const Dims& dims = context.dims(2 + tensor);
    for (size_t g = 0; g < Groups; ++g) {
      const size_t input = 2 + g * count + tensor;
      if (context.dims(input) != dims)
        throw bad_input("input {} is {}, but the tensor to optimize {}", input,
                        dims_text(context.dims(input)), dims_text(dims));
      const auto values = context.reals(input);
      groups[g].assign(values.span().begin(), values.span().end());
    }
    for (size_t i = 0; i < groups[0].size(); ++i) {
      std::array<double, Groups> values;
      for (size_t g = 0; g < Groups; ++g) values[g] = groups[g][i];
      step(values);
      for (size_t g = 0; g < Groups; ++g) groups[g][i] = values[g];
    }
    context.store(tensor, dims, groups[0]);
    for (size_t g = 2; g < Groups; ++g) context.store((g - 1) * count + tensor, dims, groups[g]);
  }
}

}  // namespace vernier::ops
