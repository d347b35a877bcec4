#include "vernier/exec/node_request.h"

namespace vernier {

namespace {

using ops::ValueInfo;

constexpr int64_t kMaxContent = 64;

bool is_known(const Value& value, const Tensor& tensor, NodeContent content) {
  return value.is_constant() || content == NodeContent::kAll ||
         (content == NodeContent::kSmall && is_small_content(tensor));
}

// Gives what is known of an input: its sizes, and perhaps its content.
ValueInfo info_of(const Value& value, const Datum& datum, NodeContent content) {
  ValueInfo info;
  info.type = value.type;
  if (!datum.is_tensor()) return info;
  const Tensor& tensor = datum.tensor;
  info.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  if (!is_known(value, tensor, content)) return info;
  info.constant = tensor;
  if (tensor.rank() <= 1 && tensor.size() <= ops::kMaxFollowedElements &&
      (is_integer(tensor.type()) || tensor.type() == ElementType::kBool))
    info.dims = to_shape(tensor.to_ints());
  return info;
}

std::optional<Dims> sizes_of(const ValueInfo& info) {
  const ValueType& type = info.type;
  return type.is_tensor() && type.tensor.shape ? to_dims(*type.tensor.shape) : std::nullopt;
}

}  // namespace

bool is_small_content(const Tensor& tensor) {
  return tensor.size() <= kMaxContent && tensor.type() != ElementType::kString &&
         element_bits(tensor.type()) >= 8;
}

InferredNode::InferredNode(const Node& node, const ops::OpDef& def, const std::vector<const Datum*>& inputs,
                           NodeContent content) {
  std::vector<ValueInfo> infos(inputs.size());
  std::vector<const ValueInfo*> known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) infos[i] = info_of(*node.inputs[i], *inputs[i], content);
    known.push_back(inputs[i] == nullptr ? nullptr : &infos[i]);
    const ValueType& type = infos[i].type;
    declared.push_back(type.is_tensor() ? type.tensor.element : ElementType::kUndefined);
  }
  ops::InferContext context(node, std::move(known));
  def.infer(context);
  outputs = std::move(context.outputs());
}

std::vector<Datum> InferredNode::results(const Node& node) const {
  std::vector<Datum> results(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i] == nullptr) continue;
    const auto dims = sizes_of(outputs[i]);
    const auto content = outputs[i].dims ? to_dims(*outputs[i].dims) : std::nullopt;
    if (!dims || !content || static_cast<int64_t>(content->size()) != element_count(*dims) ||
        !is_integer(outputs[i].type.tensor.element))
      return {};
    results[i] = Tensor::from_ints(outputs[i].type.tensor.element, *dims, *content);
  }
  return results;
}

std::optional<KernelRequest> request_for(const Node& node, const std::vector<const Datum*>& inputs,
                                         const InferredNode& inferred, NodeContent content) {
  KernelRequest request{node, {}, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) {
      request.inputs.emplace_back(std::nullopt);
      continue;
    }
    if (!inputs[i]->is_tensor() || inputs[i]->tensor.type() == ElementType::kString) return std::nullopt;
    const Tensor& tensor = inputs[i]->tensor;
    const bool known = is_known(*node.inputs[i], tensor, content);
    request.inputs.push_back(
        Operand{tensor.type(), tensor.dims(), Layout::kPlain, known ? &tensor : nullptr});
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    request.outputs.emplace_back(std::nullopt);
    if (node.outputs[i] == nullptr) continue;
    const ValueType& type = inferred.outputs[i].type;
    if (!type.is_tensor() || type.tensor.element == ElementType::kString) return std::nullopt;
    const auto dims = sizes_of(inferred.outputs[i]);
    request.open_sizes |= !dims.has_value();
    request.outputs.back() = Operand{type.tensor.element, dims.value_or(Dims{}), Layout::kPlain, nullptr};
  }
  if (!request.open_sizes) return request;
  for (auto& output : request.outputs) {
    if (output) output->dims.clear();
  }
  return request;
}

bool is_view(const ops::OpDef& def, const KernelRequest& request) {
  return (def.traits & ops::kView) != 0 && !request.open_sizes && request.outputs.size() == 1 &&
         request.has(0) && request.wants(0) && request.in(0).element == request.out().element &&
         request.in(0).size() == request.out().size();
}

}  // namespace vernier
