// Calls of local functions, which the nodes of the function replace.
#include "vernier/onnx/graph_import.h"

namespace vernier {

void GraphImporter::inline_call(const onnx::NodeProto& proto, const onnx::FunctionProto& function,
                                Scope& scope) {
  if (++depth_ > kMaxDepth)
    throw bad_input("function calls are nested more than {} deep", kMaxDepth)
        .at_node(describe(proto))
        .advise("functions must not call themselves");
  Scope body;
  body.graph = scope.graph;
  const std::string call = unique_node_name(proto, scope);
  calls_[call] = proto.domain() + "::" + proto.op_type();
  body.prefix = call + "/";
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
  std::set<std::string, std::less<>> made(function.input().begin(), function.input().end());
  for (const auto& node : function.node()) {
    for (const auto& name : node.output()) {
      if (!name.empty() && !made.insert(name).second) throw made_twice(name, node);
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
    add_identity(fmt::format("{}output_{}", body.prefix, i), made, wanted, *scope.graph);
  }
  --depth_;
}

void GraphImporter::add_identity(const std::string& name, Value* made, Value* wanted, Graph& graph) {
  auto identity = std::make_unique<Node>();
  identity->name = name;
  identity->op = "Identity";
  identity->version = opsets_.contains("") ? opsets_.at("") : 13;
  identity->inputs = {made};
  identity->outputs = {wanted};
  identity->provenance.insert(identity->name);
  graph.add_node(std::move(identity));
}

}  // namespace vernier
