#include "vernier/diagnose/rewrites/replacement.h"

#include <algorithm>
#include <numeric>

#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"

namespace vernier {

namespace {

Tensor part_of(const Tensor& tensor, size_t axis, int64_t begin, int64_t end) {
  const auto values = tensor.to_doubles();
  Dims dims = tensor.dims();
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  const auto length = static_cast<size_t>(dims[axis]);
  std::vector<double> part;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i / inner % length);
    if (at >= begin && at < end) part.push_back(values[i]);
  }
  dims[axis] = end - begin;
  return Tensor::from_doubles(tensor.type(), dims, part);
}

}  // namespace

Replacement::Replacement(const Model& model, Node& node)
    : node_(node), graph_(node.graph()), opset_(model.opset("")), names_(node.graph()) {
  for_each_graph(*model.graph, [&](const Graph& graph) {
    for (const auto& each : graph.nodes()) node_names_.insert(each->name);
  });
}

ElementType Replacement::type() const {
  return node_.inputs.at(0)->type.tensor.element;
}

Value* Replacement::value(const std::string& name) {
  return graph_.add_value(names_.take(name));
}

Value* Replacement::operator()(const std::string& op, const std::vector<Value*>& inputs,
                               AttributeMap attributes) {
  const std::string stem = node_.outputs.at(0) == nullptr ? node_.name : node_.outputs[0]->name;
  Value* result = value(stem + "~" + op);
  auto node = make_node(op, opset_, inputs, result);
  node->name = node_.name + "~" + op;
  for (int i = 2; !node_names_.insert(node->name).second; ++i)
    node->name = node_.name + "~" + op + std::to_string(i);
  node->attributes = std::move(attributes);
  made_.push_back(std::move(node));
  return result;
}

Value* Replacement::copy(const std::vector<Value*>& inputs) {
  Value* result = (*this)(node_.op, inputs, node_.attributes);
  last().domain = node_.domain;
  last().version = node_.version;
  return result;
}

Value* Replacement::same(const std::vector<Value*>& inputs) {
  ValueMap unchanged;
  auto node = clone(node_, unchanged, &graph_);
  node->inputs = inputs;
  Value* result = value(node_.outputs.at(0)->name + "~inner");
  node->outputs[0] = result;
  made_.push_back(std::move(node));
  return result;
}

void Replacement::adopt(std::unique_ptr<Node> made) {
  const std::string name = node_.name + "~" + made->name;
  made->name = name;
  for (int i = 2; !node_names_.insert(made->name).second; ++i) made->name = name + std::to_string(i);
  made_.push_back(std::move(made));
}

Value* Replacement::constant(Tensor tensor) {
  return graph_.add_constant(names_.take(node_.outputs.at(0)->name + "~constant"), std::move(tensor));
}

Value* Replacement::scalar(double value, ElementType type) {
  return constant(Tensor::from_doubles(type, {}, std::vector<double>{value}));
}

Value* Replacement::ints(const std::vector<int64_t>& values) {
  return constant(Tensor::from_ints(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values));
}

Value* Replacement::count(int64_t length) {
  std::vector<int64_t> numbers(static_cast<size_t>(length));
  std::iota(numbers.begin(), numbers.end(), 0);
  return ints(numbers);
}

Value* Replacement::unsqueeze(Value* value, int64_t axis) {
  constexpr int64_t kByInput = 13;
  if (opset_ >= kByInput) return (*this)("Unsqueeze", {value, ints({axis})});
  return (*this)("Unsqueeze", {value}, {{"axes", std::vector<int64_t>{axis}}});
}

Value* Replacement::reduce(const std::string& op, Value* value, const std::vector<int64_t>& axes, bool keep) {
  constexpr int64_t kSumByInput = 13, kOthersByInput = 18;
  AttributeMap attributes{{"keepdims", int64_t{keep}}};
  if (opset_ >= (op == "ReduceSum" ? kSumByInput : kOthersByInput))
    return (*this)(op, {value, ints(axes)}, std::move(attributes));
  attributes.emplace("axes", axes);
  return (*this)(op, {value}, std::move(attributes));
}

Value* Replacement::slice(Value* value, int64_t axis, int64_t begin, int64_t end) {
  if (const Tensor* held = constant_of(value); held != nullptr && is_float(held->type()))
    return constant(part_of(*held, static_cast<size_t>(axis < 0 ? axis + held->rank() : axis), begin, end));
  constexpr int64_t kByInput = 10;
  if (opset_ >= kByInput) return (*this)("Slice", {value, ints({begin}), ints({end}), ints({axis})});
  return (*this)("Slice", {value},
                 {{"axes", std::vector<int64_t>{axis}},
                  {"starts", std::vector<int64_t>{begin}},
                  {"ends", std::vector<int64_t>{end}}});
}

Value* Replacement::pad(Value* value, const std::vector<int64_t>& pads, double with) {
  constexpr int64_t kByInput = 11;
  if (opset_ >= kByInput) return (*this)("Pad", {value, ints(pads), scalar(with)});
  return (*this)("Pad", {value}, {{"pads", pads}, {"value", static_cast<float>(with)}});
}

void Replacement::give(Value* result) {
  const Value* own = std::exchange(last().outputs.at(0), result);
  graph_.remove_values({own});
}

void Replacement::put() {
  give(node_.outputs.at(0));
  Rewriter(graph_).replace({&node_}, std::move(made_));
}

Node* node_of(const Model& model, const std::string& name) {
  Node* found = nullptr;
  for_each_graph(*model.graph, [&](Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (node->name == name) found = node.get();
    }
  });
  return found;
}

std::vector<Node*> nodes_of(const Model& model, const std::vector<std::string>& names,
                            const std::set<std::string>& operators) {
  std::vector<Node*> nodes;
  for (const std::string& name : names) {
    Node* node = node_of(model, name);
    const bool fits =
        node != nullptr && (operators.empty() || (node->domain.empty() && operators.contains(node->op)));
    if (fits && std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  }
  return nodes;
}

const Tensor* constant_of(const Value* value) {
  if (value == nullptr) return nullptr;
  if (value->is_constant()) return &*value->constant;
  const Node* maker = value->producer();
  if (maker == nullptr || !maker->domain.empty()) return nullptr;
  if (maker->op == "Identity") return constant_of(maker->input(0));
  const Attribute* held = maker->op == "Constant" ? maker->find_attribute("value") : nullptr;
  return held == nullptr ? nullptr : std::get_if<Tensor>(&held->value());
}

std::optional<std::vector<double>> constant_values(const Value* value) {
  const Tensor* tensor = constant_of(value);
  if (tensor == nullptr || tensor->type() == ElementType::kString) return std::nullopt;
  return tensor->to_doubles();
}

std::vector<int64_t> numbers_of(const Node& node, std::string_view name,
                                const std::vector<int64_t>& otherwise) {
  const Attribute* held = node.find_attribute(name);
  return held == nullptr ? otherwise : held->get<std::vector<int64_t>>();
}

std::optional<Dims> sizes_of_value(const Value* value) {
  return value == nullptr ? std::nullopt : known_dims(*value);
}

}  // namespace vernier
