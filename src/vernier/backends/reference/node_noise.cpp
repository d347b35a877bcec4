#include "vernier/backends/reference/node_noise.h"

#include <algorithm>

#include "vernier/numeric/ulp.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/exact_sums.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/tensor/jitter.h"

namespace vernier {

namespace {

struct Operands {
  explicit Operands(const Node& node, const ops::ReferenceContext& context) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool there = context.has(i) && context.datum(i).is_tensor();
      tensors.push_back(there ? &context.datum(i).tensor : nullptr);
      declared.push_back(there ? context.declared(i) : ElementType::kUndefined);
    }
  }
  std::vector<const Tensor*> tensors;
  std::vector<ElementType> declared;
};

}  // namespace

bool rounds(const Node& node, const ops::OpDef& def) {
  constexpr uint32_t kNever = ops::kView | ops::kDataMovement | ops::kRoundsNothing;
  if ((def.traits & kNever) != 0 || !node.regions.empty()) return false;
  if (node.input(0) == nullptr) return false;
  const ValueType& from = node.input(0)->type;
  return node.op != "Cast" || !from.is_tensor() || is_float(from.tensor.element);
}

Tensor where_rounded(const Tensor& unrounded, const Tensor& stored, const Tensor& noisy) {
  const auto exact = unrounded.to_doubles(), kept = stored.to_doubles();
  auto values = noisy.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    if (exact[i] == kept[i]) values[i] = kept[i];
  }
  return Tensor::from_doubles(noisy.type(), noisy.dims(), values);
}

Tensor where_rounded(const Node& node, const ops::OpDef& def, const ops::ReferenceContext& context,
                     const Tensor& stored, Tensor noisy) {
  if ((def.traits & (ops::kRoundsOnce | ops::kSums)) == 0 || !is_float(stored.type())) return noisy;
  const Operands operands(node, context);
  const ElementType type = context.out_type(0);
  if ((def.traits & ops::kSums) != 0) {
    const ElementType accumulator = type == ElementType::kDouble ? type : ElementType::kFloat;
    if (!ops::sums_exactly(node, operands.tensors, operands.declared, accumulator)) return noisy;
  }
  const Tensor unrounded =
      ops::evaluate(node, operands.tensors, ops::ReferenceMode::kIdeal, operands.declared).at(0).tensor;
  // In the ideal mode what is stored is never rounded: then the type that the model declares tells.
  const Tensor rounded = Tensor::from_doubles(type, unrounded.dims(), unrounded.to_doubles());
  return where_rounded(unrounded, rounded, noisy);
}

Tensor moved_in_float(const Tensor& operand, uint64_t seed) {
  const Tensor rounded = Tensor::from_doubles(ElementType::kFloat, operand.dims(), operand.to_doubles());
  const Tensor moved = where_rounded(operand, rounded, jittered(rounded, seed));
  return Tensor::from_doubles(operand.type(), moved.dims(), moved.to_doubles());
}

double node_roundoff(const Node& node, const ops::OpDef& def, const Tensor& result, bool is_planned_group) {
  // QLinearConv, DynamicQuantizeLSTM, MatMulIntegerToFloat, …
  const bool quantizes = node.op.starts_with("QLinear") ||
                         (node.op.find("Quantize") != std::string::npos && node.op != "DequantizeLinear");
  if (quantizes) return unit_roundoff(is_integer(result.type()) ? result.type() : ElementType::kInt8);
  return is_float(result.type()) && (is_planned_group || rounds(node, def)) ? unit_roundoff(result.type())
                                                                            : 0;
}

double terms(const Node& node, const ops::OpDef& def, const ops::ReferenceContext& context) {
  if ((def.traits & ops::kContraction) == 0 || def.flops == nullptr) return 0;
  std::vector<Dims> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(context.has(i) && context.datum(i).is_tensor() ? context.dims(i) : Dims());
  // A recurrent operator without its sequence output has the last state, which accumulates all steps.
  const auto there = std::find_if(node.outputs.begin(), node.outputs.end(),
                                  [](const Value* output) { return output != nullptr; });
  if (there == node.outputs.end()) return 0;
  const Dims output = context.out_dims(static_cast<size_t>(there - node.outputs.begin()));
  const auto elements = static_cast<double>(element_count(output));
  return elements > 0 ? def.flops(node, inputs, {output}) / (2 * elements) : 0;
}

}  // namespace vernier
