#include <algorithm>
#include <unordered_set>

#include "vernier/ops/infer_known.h"
#include "vernier/ops/schema.h"
#include "vernier/ops/support/follow.h"

namespace vernier::ops {

namespace {

using Known = std::unordered_map<const Value*, ValueInfo>;

bool contradicts(const ValueType& declared, const ValueType& inferred) {
  if (declared.kind != inferred.kind) return true;
  if (!declared.is_tensor()) return false;
  const TensorType &a = declared.tensor, &b = inferred.tensor;
  if (a.element != ElementType::kUndefined && a.element != b.element) return true;
  if (!a.shape || !b.shape) return false;
  if (a.shape->size() != b.shape->size()) return true;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const Dim &left = (*a.shape)[i], &right = (*b.shape)[i];
    if (left == Dim(-1)) continue;  // declared unknown
    if (left.is_constant() && right.is_constant() && left != right) return true;
  }
  return false;
}

ValueInfo constant_info(const Tensor& tensor) {
  ValueInfo info;
  info.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
  info.constant = tensor;
  if (tensor.rank() <= 1 && tensor.size() <= kMaxFollowedElements) info.dims = content_of(tensor);
  return info;
}

// Whether the content is known as expressions that sizes determine.
bool follows_from_sizes(const ValueInfo& info) {
  if (!info.dims || !info.type.is_tensor() || !info.type.tensor.shape) return false;
  const auto dims = to_dims(*info.type.tensor.shape);
  return dims && element_count(*dims) == static_cast<int64_t>(info.dims->size()) &&
         std::none_of(info.dims->begin(), info.dims->end(), [](const Dim& dim) { return dim.has_fresh(); });
}

class GraphInference {
 public:
  // Operators that are not known are refused, unless there is a list for their nodes.
  explicit GraphInference(InferenceReport& report, std::vector<const Node*>* unknown = nullptr)
      : report_(report), unknown_(unknown) {}

  // Infers the nodes of `graph`, whose inputs are known already; gives what is known of its outputs.
  std::vector<ValueInfo> run(Graph& graph) {
    for (const auto& value : graph.values()) {
      if (value->is_constant() && !known_.contains(value.get()))
        known_[value.get()] = constant_info(*value->constant);
    }
    for (const auto& node : graph.nodes()) infer_or_keep(*node);
    std::vector<ValueInfo> outputs;
    for (const Value* output : graph.outputs) outputs.push_back(known_[output]);
    return outputs;
  }

  void set_known(Value& value, ValueInfo info) {
    value.type = info.type;
    known_[&value] = std::move(info);
  }

  void report_contents(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (const Value* output : node->outputs) {
        if (output == nullptr) continue;
        const ValueInfo& info = known_[output];
        if (info.constant)
          report_.contents[output] = *info.constant;
        else if (follows_from_sizes(info))
          report_.sizes[output] = *info.dims;
      }
    }
  }

  void check(const Node& node);

  void reset_report(size_t size) { report_.conflicts.resize(size); }
  size_t report_size() const { return report_.conflicts.size(); }

 private:
  void infer(const Node& node);
  void infer_or_keep(const Node& node);
  void conclude(Value& value, ValueInfo info);

  InferenceReport& report_;
  std::vector<const Node*>* unknown_;
  Known known_;
  std::unordered_set<const Value*> vague_;  // what follows from operators that are not known
};

class NodeContext : public InferContext {
 public:
  NodeContext(const Node& node, std::vector<const ValueInfo*> inputs, GraphInference& inference)
      : InferContext(node, std::move(inputs)), inference_(inference) {}

  std::vector<ValueInfo> infer_region(const Graph& region, const std::vector<ValueInfo>& inputs) override {
    auto& graph = const_cast<Graph&>(region);  // regions are part of the graph that infer_types may write
    if (inputs.size() != graph.inputs.size()) {
      throw bad_input("the body '{}' has {} inputs, but {} are given", graph.name, graph.inputs.size(),
                      inputs.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) inference_.set_known(*graph.inputs[i], inputs[i]);
    return inference_.run(graph);
  }

 private:
  GraphInference& inference_;
};

// Whether both are known, and are not the same.
bool differ(const ValueType& a, const ValueType& b) {
  if (!a.is_tensor() || !b.is_tensor() || !a.tensor.shape || !b.tensor.shape) return false;
  const auto left = to_dims(*a.tensor.shape), right = to_dims(*b.tensor.shape);
  return left && right && *left != *right;
}

void GraphInference::check(const Node& node) {
  for (const Value* input : node.inputs) {
    if (input == nullptr || known_.contains(input)) continue;
    if (input->is_constant())
      known_[input] = constant_info(*input->constant);
    else
      known_[input].type = input->type;
  }
  std::vector<ValueType> types;
  for (const Value* output : node.outputs) types.push_back(output == nullptr ? ValueType() : output->type);
  infer(node);
  for (size_t i = 0; i < types.size(); ++i) {
    Value* output = node.outputs[i];
    if (output == nullptr) continue;
    if (differ(types[i], output->type))
      throw bad_input("'{}' would be {} instead of {}", output->name, output->type.text(), types[i].text())
          .at_node(node.name);
    output->type = types[i];  // which may say more than inference knows
    known_.at(output).type = types[i];
  }
}

void GraphInference::infer(const Node& node) {
  const OpDef& def = OpRegistry::instance().require(node);
  check_schema(def, node);
  std::vector<const ValueInfo*> inputs;
  for (const Value* input : node.inputs) inputs.push_back(input == nullptr ? nullptr : &known_[input]);
  NodeContext context(node, std::move(inputs), *this);
  try {
    def.infer(context);
  } catch (Error& error) {
    throw error.at_node(node.name);
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != nullptr) conclude(*node.outputs[i], std::move(context.outputs()[i]));
  }
}

// Behind an operator that is not known, nothing is a fault of what reads it.
void GraphInference::infer_or_keep(const Node& node) {
  if (unknown_ == nullptr) return infer(node);
  const bool is_known = OpRegistry::instance().find(node) != nullptr;
  const bool is_vague = std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [&](const Value* input) { return vague_.contains(input); });
  if (!is_known) unknown_->push_back(&node);
  if (is_known && !is_vague) return infer(node);
  bool is_inferred = false;
  try {
    if (is_known) infer(node);
    is_inferred = is_known;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
  }
  for (Value* output : node.outputs) {
    if (output == nullptr) continue;
    vague_.insert(output);
    if (!is_inferred) known_[output].type = output->type;
  }
}

void GraphInference::conclude(Value& value, ValueInfo info) {
  if (contradicts(value.type, info.type))
    report_.conflicts.push_back({value.name, value.type.text(), info.type.text()});
  if (info.constant && !info.dims) info.dims = constant_info(*info.constant).dims;
  if (info.dims && !info.constant && info.type.is_tensor()) {
    // Content that is all integers is a constant for those that need its values.
    const auto content = to_dims(*info.dims);
    const auto& shape = info.type.tensor.shape;
    const auto dims = shape ? to_dims(*shape) : std::nullopt;
    const ElementType element = info.type.tensor.element;
    if (content && dims && element_count(*dims) == static_cast<int64_t>(content->size()) &&
        (is_integer(element) || element == ElementType::kBool)) {
      info.constant = Tensor::from_ints(element, *dims, *content);
    }
  }
  value.type = info.type;
  known_[&value] = std::move(info);
}

ValueType name_dimensions(const std::string& name, ValueType type) {
  if (!type.is_tensor() || !type.tensor.shape) return type;
  auto& shape = *type.tensor.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == Dim(-1)) shape[axis] = Dim::symbol(fmt::format("{}.{}", name, axis));
  }
  return type;
}

InferenceReport infer_all(Graph& graph, std::vector<const Node*>* unknown) {
  InferenceReport report;
  GraphInference inference(report, unknown);
  for (Value* input : graph.inputs) {
    if (input->is_constant()) continue;
    ValueInfo info;
    info.type = name_dimensions(input->name, input->type);
    inference.set_known(*input, std::move(info));
  }
  inference.run(graph);
  inference.report_contents(graph);
  return report;
}

}  // namespace

InferenceReport infer_types(Graph& graph) {
  return infer_all(graph, nullptr);
}

PartialInference infer_known_types(Graph& graph) {
  PartialInference result;
  result.report = infer_all(graph, &result.unknown);
  return result;
}

void check_types(Graph& graph, const std::function<bool(const Node&)>& is_known) {
  InferenceReport report;
  GraphInference inference(report);
  for (const auto& node : graph.nodes()) {
    if (!is_known(*node)) inference.check(*node);
  }
}

}  // namespace vernier::ops
