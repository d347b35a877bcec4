#include "vernier/diagnose/causes/member.h"

#include "vernier/ir/clone.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

Tensor unrounded(const Tensor& tensor) {
  if (!tensor.is_defined() || !is_float(tensor.type()) || tensor.type() == ElementType::kDouble)
    return tensor;
  return Tensor::from_doubles(ElementType::kDouble, tensor.dims(), tensor.to_doubles());
}

ElementType declared_type(const Value* value) {
  return value == nullptr || !value->type.is_tensor() ? ElementType::kUndefined : value->type.tensor.element;
}

Tensors evaluate(const Node& node, const Tensors& inputs) {
  std::vector<const Tensor*> operands;
  std::vector<ElementType> declared;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool given = node.inputs[i] != nullptr && i < inputs.size() && inputs[i].is_defined();
    operands.push_back(given ? &inputs[i] : nullptr);
    declared.push_back(declared_type(node.inputs[i]));
  }
  const bool real = is_float(declared_type(node.output(0)));
  const auto mode = real ? ops::ReferenceMode::kIdeal : ops::ReferenceMode::kDeclared;
  Tensors results;
  for (Datum& result : ops::evaluate(node, operands, mode, declared))
    results.push_back(result.is_tensor() ? std::move(result.tensor) : Tensor());
  return results;
}

}  // namespace

bool Member::is_constant(size_t input) const {
  if (input < constants_.size() && constants_[input]) return true;
  const Value* value = node_.input(input);
  return value != nullptr && value->is_constant();
}

ElementType Member::declared(size_t input) const {
  return declared_type(node_.input(input));
}

ElementType Member::declared_result(size_t output) const {
  return declared_type(node_.output(output));
}

Tensors Member::with_inputs(Tensors inputs) const {
  return changed([](Node&) {}, std::move(inputs));
}

Tensors Member::with_input(size_t index, Tensor input) const {
  Tensors inputs = inputs_;
  inputs.at(index) = std::move(input);
  return with_inputs(std::move(inputs));
}

Tensors Member::with_attribute(const std::string& name, std::optional<Attribute> value) const {
  return changed([&](Node& node) {
    node.attributes.erase(name);
    if (value) node.attributes[name] = *value;
  });
}

Tensors Member::changed(const std::function<void(Node&)>& change, Tensors inputs) const {
  ValueMap same;
  const auto copy = clone(node_, same, nullptr);
  change(*copy);
  for (size_t i = 0; i < copy->inputs.size(); ++i) {
    if (i >= inputs.size() || !inputs[i].is_defined()) copy->inputs[i] = nullptr;
  }
  return evaluate(*copy, inputs);
}

Members::Members(const FlaggedNode& flagged) : flagged_(flagged) {
  const Node& whole = *flagged.node;
  for (size_t i = 0; i < whole.inputs.size(); ++i) {
    if (whole.inputs[i] != nullptr) values_[whole.inputs[i]] = unrounded(flagged.inputs[i]);
  }
  unfold(whole);
  for (const Node* leaf : leaves_) {
    Tensors inputs = inputs_of(*leaf, values_), outputs;
    if (leaf->regions.empty()) {
      outputs = evaluate(*leaf, inputs);
    } else {
      if (flagged.expected.size() < leaf->outputs.size())
        throw unsupported("nothing is known of its results");
      for (const ElementErrors& each : flagged.expected) outputs.push_back(each.value);
    }
    for (size_t i = 0; i < leaf->outputs.size(); ++i) {
      if (leaf->outputs[i] != nullptr) values_[leaf->outputs[i]] = outputs.at(i);
    }
    std::vector<bool> constants;
    for (const Value* input : leaf->inputs)
      constants.push_back(input != nullptr && real(input)->is_constant());
    members_.emplace_back(*leaf, std::move(inputs), std::move(outputs), std::move(constants));
  }
}

// Maps values that a group reads and makes to those inside.
void Members::unfold(const Node& node) {
  if (!ops::is_group(node)) {
    leaves_.push_back(&node);
    return;
  }
  const Graph& body = ops::body(node);
  for (size_t i = 0; i < body.inputs.size(); ++i) aliases_[body.inputs[i]] = node.inputs[i];
  for (const auto& member : body.nodes()) unfold(*member);
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (node.outputs[i] != nullptr) aliases_[node.outputs[i]] = body.outputs[i];
  }
}

const Value* Members::real(const Value* value) const {
  for (auto found = aliases_.find(value); found != aliases_.end(); found = aliases_.find(value))
    value = found->second;
  return value;
}

Tensors Members::inputs_of(const Node& node, const Values& values) const {
  Tensors inputs;
  for (const Value* input : node.inputs) {
    const Value* made = input == nullptr ? nullptr : real(input);
    if (made == nullptr) {
      inputs.emplace_back();
    } else if (const auto found = values.find(made); found != values.end()) {
      inputs.push_back(found->second);
    } else {
      inputs.push_back(made->is_constant() ? unrounded(*made->constant) : Tensor());
    }
  }
  return inputs;
}

Tensors Members::stored(const Values& values) const {
  Tensors results(flagged_.made.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& made = flagged_.made[i];
    if (!made.is_defined() || flagged_.node->outputs[i] == nullptr) continue;
    const auto found = values.find(real(flagged_.node->outputs[i]));
    if (found == values.end() || !found->second.is_defined()) continue;
    const Tensor& value = found->second;
    results[i] = is_float(made.type()) && value.type() != made.type()
                     ? Tensor::from_doubles(made.type(), value.dims(), value.to_doubles())
                     : value;
  }
  return results;
}

Tensors Members::results_with(size_t member, const Tensors& results) const {
  Values values = values_;
  const auto set = [&](const Node& node, const Tensors& made) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != nullptr) values[node.outputs[i]] = made.at(i);
    }
  };
  set(*leaves_.at(member), results);
  for (size_t i = member + 1; i < leaves_.size(); ++i)
    set(*leaves_[i], evaluate(*leaves_[i], inputs_of(*leaves_[i], values)));
  return stored(values);
}

Tensors Members::sound_results() const {
  return stored(values_);
}

}  // namespace vernier
