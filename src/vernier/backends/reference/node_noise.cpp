#include "vernier/backends/reference/node_noise.h"

#include <algorithm>

#include "vernier/numeric/ulp.h"

namespace vernier {

bool rounds(const Node& node, const ops::OpDef& def) {
  if ((def.traits & (ops::kView | ops::kDataMovement)) != 0 || !node.regions.empty()) return false;
  if (node.input(0) == nullptr) return false;
  const ValueType& from = node.input(0)->type;
  return node.op != "Cast" || !from.is_tensor() || is_float(from.tensor.element);
}

double node_roundoff(const Node& node, const ops::OpDef& def, const Tensor& result, bool is_planned_group) {
  // QLinearConv, DynamicQuantizeLSTM, MatMulIntegerToFloat, …
  const bool quantises = node.op.starts_with("QLinear") ||
                         (node.op.find("Quantize") != std::string::npos && node.op != "DequantizeLinear");
  if (quantises) return unit_roundoff(is_integer(result.type()) ? result.type() : ElementType::kInt8);
  return is_float(result.type()) && (is_planned_group || rounds(node, def)) ? unit_roundoff(result.type())
                                                                            : 0;
}

double terms(const Node& node, const ops::OpDef& def, const ops::ReferenceContext& context) {
  if ((def.traits & ops::kContraction) == 0 || def.flops == nullptr) return 0;
  std::vector<Dims> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(context.has(i) && context.datum(i).is_tensor() ? context.dims(i) : Dims());
  // Of a recurrent operator without the sequence, the last state, which is the sum of all steps.
  const auto there = std::find_if(node.outputs.begin(), node.outputs.end(),
                                  [](const Value* output) { return output != nullptr; });
  if (there == node.outputs.end()) return 0;
  const Dims output = context.out_dims(static_cast<size_t>(there - node.outputs.begin()));
  const auto elements = static_cast<double>(element_count(output));
  return elements > 0 ? def.flops(node, inputs, {output}) / (2 * elements) : 0;
}

}  // namespace vernier
