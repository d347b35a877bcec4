#include "vernier/onnx/graph_import.h"

#include <algorithm>

#include "vernier/ir/topological_order.h"
#include "vernier/onnx/free_names.h"

namespace vernier {

namespace {

constexpr int kMaxDepth = 100;  // of nested graphs and function calls

std::string function_key(const std::string& domain, const std::string& name, const std::string& overload) {
  return canonical_domain(domain) + ":" + name + ":" + overload;
}

void declare(Value& value, const onnx::TypeProto& type) {
  value.type = value_type_of(type);
  value.declared = value.type;
}

std::string describe(const onnx::NodeProto& proto) {
  if (!proto.name().empty()) return proto.name();
  return proto.op_type() + (proto.output_size() > 0 ? " -> " + proto.output(0) : "");
}

}  // namespace

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

Value* GraphImporter::Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
  }
  return nullptr;
}

GraphImporter::GraphImporter(const onnx::ModelProto& model, ExternalData& external)
    : model_(model), external_(external) {
  for (const auto& entry : model.opset_import()) opsets_[canonical_domain(entry.domain())] = entry.version();
  for (const auto& function : model.functions()) {
    if (!functions_
             .try_emplace(function_key(function.domain(), function.name(), function.overload()), &function)
             .second) {
      throw bad_input("local function '{}::{}' is defined twice", function.domain(), function.name());
    }
  }
}

std::unique_ptr<Graph> GraphImporter::import() {
  active_opsets_ = &opsets_;
  return import_graph(model_.graph(), nullptr);
}

std::unique_ptr<Graph> GraphImporter::import_graph(const onnx::GraphProto& proto, Scope* outer) {
  if (++depth_ > kMaxDepth) throw bad_input("graphs are nested more than {} deep", kMaxDepth);
  auto graph = std::make_unique<Graph>(outer == nullptr ? nullptr : outer->graph);
  graph->name = proto.name();
  Scope scope;
  scope.outer = outer;
  scope.graph = graph.get();
  if (outer != nullptr) {
    scope.prefix = outer->prefix;
    scope.call = outer->call;
    scope.function = outer->function;
    scope.caller = outer->caller;
  }
  for (const auto& input : proto.input()) {
    if (input.name().empty()) throw bad_input("graph '{}' has an input without a name", proto.name());
    if (scope.values.contains(input.name()))
      throw bad_input("input '{}' of graph '{}' is there twice", input.name(), proto.name());
    Value* value = graph->add_input(scope.prefix + input.name(), {});
    declare(*value, input.type());
    scope.values[input.name()] = value;
  }
  import_initializers(proto, scope);
  import_nodes(proto.node(), scope, *active_opsets_);
  for (const auto& info : proto.value_info()) {
    const auto found = scope.values.find(info.name());
    if (found != scope.values.end() && !found->second->is_constant()) declare(*found->second, info.type());
  }
  for (const auto& output : proto.output()) {
    Value* value = scope.find(output.name());
    if (value == nullptr) {
      throw bad_input("output '{}' of graph '{}' is made by no node", output.name(), proto.name())
          .advise("remove the output or add its producer");
    }
    if (&value->graph() == graph.get() && value->producer() != nullptr && output.has_type())
      declare(*value, output.type());
    graph->outputs.push_back(value);
  }
  --depth_;
  return graph;
}

void GraphImporter::import_initializers(const onnx::GraphProto& proto, Scope& scope) {
  const auto add = [&](const std::string& name, Tensor tensor) {
    if (name.empty()) throw bad_input("an initializer of graph '{}' has no name", proto.name());
    const auto found = scope.values.find(name);
    if (found == scope.values.end()) {
      scope.values[name] = scope.graph->add_constant(scope.prefix + name, std::move(tensor));
      return;
    }
    Value& input = *found->second;  // a weight that is listed as an input, too
    if (input.is_constant()) throw bad_input("initializer '{}' is there twice", name);
    input.type = ValueType::of(tensor.type(), to_shape(tensor.dims()));
    input.constant = std::move(tensor);
  };
  for (const auto& tensor : proto.initializer()) add(tensor.name(), tensor_of(tensor, external_));
  for (const auto& tensor : proto.sparse_initializer())
    add(tensor.values().name(), dense_tensor_of(tensor, external_));
}

void GraphImporter::declare_outputs(const onnx::NodeProto& proto, Scope& scope) {
  for (const auto& name : proto.output()) {
    if (name.empty()) continue;
    if (scope.values.contains(name)) {
      throw bad_input("the value '{}' is made twice", name)
          .at_node(describe(proto))
          .advise("values are assigned once; rename one of them");
    }
    // A name may occur in a body that was inlined before, or in the other branch of an If.
    std::string unique = scope.prefix + name;
    for (int k = 1; !value_names_.insert(unique).second; ++k)
      unique = fmt::format("{}{}#{}", scope.prefix, name, k);
    scope.values[name] = scope.graph->add_value(std::move(unique));
  }
}

void GraphImporter::import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                                 Scope& scope, const Opsets& opsets) {
  for (const auto& proto : nodes) declare_outputs(proto, scope);
  // ONNX asks for topological order, but files without it exist; a cycle is refused.
  std::map<std::string, size_t, std::less<>> producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const auto& name : nodes[i].output()) producers[name] = static_cast<size_t>(i);
  }
  std::vector<std::set<size_t>> after(static_cast<size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i) {
    for (const auto& name : free_names(nodes[i])) {
      if (const auto found = producers.find(name); found != producers.end())
        after[static_cast<size_t>(i)].insert(found->second);
    }
  }
  const auto order = topological_order(after);
  if (order.size() != after.size()) {
    for (int i = 0; i < nodes.size(); ++i) {
      if (std::find(order.begin(), order.end(), static_cast<size_t>(i)) == order.end()) {
        throw bad_input("its inputs depend on its own outputs (a cycle)")
            .at_node(describe(nodes[i]))
            .advise("remove one edge of the cycle");
      }
    }
  }
  for (const size_t index : order) import_node(nodes[static_cast<int>(index)], scope, opsets);
}

Value* GraphImporter::resolve(const std::string& name, const onnx::NodeProto& proto,
                              const Scope& scope) const {
  if (name.empty()) return nullptr;
  Value* value = scope.find(name);
  if (value == nullptr) {
    throw bad_input("its input '{}' is no graph input, initializer or output of a node", name)
        .at_node(describe(proto))
        .advise("add the missing producer or initializer");
  }
  return value;
}

const onnx::FunctionProto* GraphImporter::find_function(const onnx::NodeProto& proto) const {
  const auto found = functions_.find(function_key(proto.domain(), proto.op_type(), proto.overload()));
  return found == functions_.end() ? nullptr : found->second;
}

std::string GraphImporter::unique_node_name(const onnx::NodeProto& proto, const Scope& scope) {
  const std::string base = scope.prefix + (proto.name().empty() ? proto.op_type() : proto.name());
  std::string name = base;
  for (int k = 1; !node_names_.insert(name).second; ++k) name = fmt::format("{}#{}", base, k);
  return name;
}

void GraphImporter::import_node(const onnx::NodeProto& proto, Scope& scope, const Opsets& opsets) {
  if (--node_budget_ < 0)
    throw bad_input("the model expands to more than four million nodes").at_node(describe(proto));
  if (const auto* function = find_function(proto)) return inline_call(proto, *function, scope);
  auto node = std::make_unique<Node>();
  node->name = unique_node_name(proto, scope);
  node->domain = canonical_domain(proto.domain());
  node->op = proto.op_type();
  const auto opset = opsets.find(node->domain);
  if (opset == opsets.end()) {
    throw bad_input("operator {} is of domain '{}', which the model does not import", node->op,
                    proto.domain().empty() ? "ai.onnx" : proto.domain())
        .at_node(describe(proto))
        .advise("add the domain to opset_import");
  }
  node->version = opset->second;
  node->provenance.insert(node->name);
  for (const auto& name : proto.input()) node->inputs.push_back(resolve(name, proto, scope));
  for (const auto& name : proto.output())
    node->outputs.push_back(name.empty() ? nullptr : scope.values.at(name));
  try {
    import_attributes(proto, *node, scope, opsets);
  } catch (Error& error) {
    throw error.at_node(describe(proto));
  }
  scope.graph->add_node(std::move(node));
}

void GraphImporter::inline_call(const onnx::NodeProto& proto, const onnx::FunctionProto& function,
                                Scope& scope) {
  if (++depth_ > kMaxDepth)
    throw bad_input("function calls are nested more than {} deep", kMaxDepth)
        .at_node(describe(proto))
        .advise("functions must not call themselves");
  Scope body;
  body.graph = scope.graph;
  body.prefix = unique_node_name(proto, scope) + "/";
  body.call = &proto;
  body.function = &function;
  body.caller = &scope;
  for (int i = 0; i < function.input_size(); ++i) {
    // A missing trailing input is an omitted one: uses inside the body are then omitted as well.
    body.values[function.input(i)] = i < proto.input_size() ? resolve(proto.input(i), proto, scope) : nullptr;
  }
  // The outputs of the body take the names of the call's outputs, which the caller's nodes refer to.
  for (int i = 0; i < std::min(function.output_size(), proto.output_size()); ++i) {
    if (!proto.output(i).empty() && !body.values.contains(function.output(i)))
      body.values[function.output(i)] = scope.values.at(proto.output(i));
  }
  Opsets opsets;
  for (const auto& entry : function.opset_import())
    opsets[canonical_domain(entry.domain())] = entry.version();
  for (const auto& node : function.node()) {
    for (const auto& name : node.output()) {
      if (name.empty() || body.values.contains(name)) continue;
      onnx::NodeProto one;
      one.add_output(name);
      declare_outputs(one, body);
    }
  }
  const Opsets* before = std::exchange(active_opsets_, &opsets);
  for (const auto& node : function.node()) import_node(node, body, opsets);
  active_opsets_ = before;
  // A function output that is one of its inputs, or was renamed, becomes an Identity.
  for (int i = 0; i < std::min(function.output_size(), proto.output_size()); ++i) {
    if (proto.output(i).empty()) continue;
    Value* wanted = scope.values.at(proto.output(i));
    Value* made = body.values[function.output(i)];
    if (made == wanted && wanted->producer() != nullptr) continue;
    if (made == nullptr || made == wanted)
      throw bad_input("function '{}' does not make its output '{}'", function.name(), function.output(i))
          .at_node(describe(proto));
    auto identity = std::make_unique<Node>();
    identity->name = fmt::format("{}output_{}", body.prefix, i);
    identity->op = "Identity";
    identity->version = opsets_.contains("") ? opsets_.at("") : 13;
    identity->inputs = {made};
    identity->outputs = {wanted};
    identity->provenance.insert(identity->name);
    scope.graph->add_node(std::move(identity));
  }
  --depth_;
}

}  // namespace vernier
