// FeatureVectorizer (ai.onnx.ml): the columns of all inputs side by side, as floats. `inputdimensions` gives
// the columns that are taken of each; missing ones are 0.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/feature_rows.h"

namespace vernier::ops {

namespace {

std::vector<int64_t> widths_of(const Node& node) {
  auto widths = node.attribute<std::vector<int64_t>>("inputdimensions", {});
  if (widths.size() != node.inputs.size())
    throw bad_input("{} entries of inputdimensions for {} inputs", widths.size(), node.inputs.size());
  for (const int64_t width : widths) {
    if (width < 0) throw bad_input("an input cannot have {} columns", width);
  }
  return widths;
}

void infer_feature_vectorizer(InferContext& context) {
  Dim total;
  for (const int64_t width : widths_of(context.node())) total = total + width;
  context.set_output(0, ElementType::kFloat, Shape{row_count(context), total});
}

void reference_feature_vectorizer(ReferenceContext& context) {
  const auto widths = widths_of(context.node());
  const Dims out = context.out_dims(0);
  std::vector<double> y(static_cast<size_t>(element_count(out)));
  int64_t column = 0;
  for (size_t input = 0; input < widths.size(); ++input) {
    const FeatureRows rows = feature_rows(context, input);
    if (rows.count != out[0])
      throw bad_input("inputs of {} and {} rows cannot stand side by side", out[0], rows.count);
    const auto x = context.reals(input);
    for (int64_t row = 0; row < rows.count; ++row) {
      std::copy_n(x.data() + row * rows.width, std::min(rows.width, widths[input]),
                  y.begin() + row * out[1] + column);
    }
    column += widths[input];
  }
  context.store(0, out, y);
}

}  // namespace

void register_feature_vectorizer(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "FeatureVectorizer",
                .operands = {Role::kData},
                .repeats = 1,
                .attributes = {{"inputdimensions", "INTS"}},
                .traits = kDataMovement,
                .infer = infer_feature_vectorizer,
                .reference = reference_feature_vectorizer});
}

}  // namespace vernier::ops
