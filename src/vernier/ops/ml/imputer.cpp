// Imputer (ai.onnx.ml): puts a value, one for all features or one for each, in the place of a missing one,
// which may be NaN.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/ml/lookup.h"

namespace vernier::ops {

namespace {

void infer_imputer(InferContext& context) {
  context.set_output(0, context.element(0), context.shape(0));
}

// The values of the node in the arithmetic of its input.
template <class T>
std::pair<T, std::vector<T>> replacement(const Node& node) {
  if constexpr (std::is_same_v<T, double>) {
    const auto values = node.attribute<std::vector<float>>("imputed_value_floats", {});
    return {node.attribute("replaced_value_float", 0.0f), {values.begin(), values.end()}};
  } else {
    const auto values = node.attribute<std::vector<int64_t>>("imputed_value_int64s", {});
    return {static_cast<T>(node.attribute<int64_t>("replaced_value_int64", 0)),
            {values.begin(), values.end()}};
  }
}

void reference_imputer(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const size_t features = dims.empty() ? 1 : static_cast<size_t>(dims.back());
  visit_arithmetic(context.in(0).type(), [&]<class T>(T) {
    const auto [missing, values] = replacement<T>(context.node());
    if (values.size() != 1 && values.size() != features)
      throw bad_input("{} values to impute for {} features", values.size(), features);
    const auto x = arithmetic_elements<T>(context, 0);
    std::vector<T> y(x.span().begin(), x.span().end());
    for (size_t i = 0; i < y.size(); ++i) {
      if (RealEqual()(static_cast<double>(y[i]), static_cast<double>(missing)))
        y[i] = values[values.size() == 1 ? 0 : i % features];
    }
    store_arithmetic(context, 0, dims, y);
  });
}

}  // namespace

void register_imputer(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "Imputer",
                .operands = {Role::kData},
                .attributes = {{"imputed_value_floats", "FLOATS"},
                               {"imputed_value_int64s", "INTS"},
                               {"replaced_value_float", "FLOAT"},
                               {"replaced_value_int64", "INT"}},
                .traits = kPointwise,
                .infer = infer_imputer,
                .reference = reference_imputer});
}

}  // namespace vernier::ops
