// ArrayFeatureExtractor (ai.onnx.ml): elements along the last axis; a vector counts as one row.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier::ops {

namespace {

template <class Size>
std::vector<Size> picked(std::vector<Size> sizes, const Size& count) {
  if (sizes.empty()) throw bad_input("ArrayFeatureExtractor takes no scalar");
  if (sizes.size() == 1) sizes.insert(sizes.begin(), Size(1));
  sizes.back() = count;
  return sizes;
}

void infer_array_feature_extractor(InferContext& context) {
  const ElementType element = context.element(0);
  const auto &input = context.shape(0), &indices = context.shape(1);
  if (!input) return context.set_output(0, element, std::nullopt);
  context.set_output(0, element,
                     picked(*input, indices ? element_count(*indices) : context.fresh("features")));
}

void reference_array_feature_extractor(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  std::vector<Tensor> columns;
  for (const int64_t index : context.ints(1).span()) columns.push_back(slice_axis(input, -1, index, 1));
  if (columns.empty()) columns.push_back(slice_axis(input, -1, 0, 0));
  const auto count = context.ints(1).size();
  context.emit(0, concat_axis(columns, -1).reshaped(picked(input.dims(), count)));
}

}  // namespace

void register_array_feature_extractor(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "ArrayFeatureExtractor",
                .operands = {Role::kData, Role::kIndices},
                .traits = kDataMovement,
                .infer = infer_array_feature_extractor,
                .reference = reference_array_feature_extractor});
}

}  // namespace vernier::ops
