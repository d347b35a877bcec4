#include "vernier/ops/evaluate.h"

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

ValueInfo info_of(const Tensor& tensor, ElementType declared) {
  ValueInfo info;
  info.type = ValueType::of(declared, to_shape(tensor.dims()));
  info.constant = tensor;
  if (tensor.rank() <= 1 && tensor.size() <= kMaxFollowedElements &&
      (is_integer(tensor.type()) || tensor.type() == ElementType::kBool))
    info.dims = to_shape(tensor.to_ints());
  return info;
}

}  // namespace

std::vector<Datum> evaluate(const Node& node, const std::vector<const Tensor*>& inputs, ReferenceMode mode,
                            const std::vector<ElementType>& declared) {
  const auto& def = OpRegistry::instance().require(node);
  std::vector<ValueInfo> infos(inputs.size());
  std::vector<const ValueInfo*> known;
  std::vector<Datum> data(inputs.size());
  std::vector<const Datum*> operands;
  std::vector<ElementType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* input = inputs[i];
    types.push_back(input == nullptr                                                ? ElementType::kUndefined
                    : i < declared.size() && declared[i] != ElementType::kUndefined ? declared[i]
                                                                                    : input->type());
    if (input != nullptr) {
      const bool widens =
          mode == ReferenceMode::kIdeal && is_float(input->type()) && input->type() != ElementType::kDouble;
      data[i] =
          widens ? Tensor::from_doubles(ElementType::kDouble, input->dims(), input->to_doubles()) : *input;
      infos[i] = info_of(data[i].tensor, types.back());
    }
    known.push_back(input == nullptr ? nullptr : &infos[i]);
    operands.push_back(input == nullptr ? nullptr : &data[i]);
  }
  InferContext inference(node, std::move(known));
  def.infer(inference);
  ReferenceContext context(node, mode, std::move(operands), std::move(types), inference.outputs());
  def.reference(context);
  return std::move(context.results());
}

}  // namespace vernier::ops
