#include "vernier/onnx/graph_import.h"

#include <algorithm>
#include <cctype>

#include "vernier/ir/topological_order.h"
#include "vernier/onnx/import.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

std::string function_key(const std::string& domain, const std::string& name, const std::string& overload) {
  return canonical_domain(domain) + ":" + name + ":" + overload;
}

// Some exporters write one text for every size that they do not know: it names no dimension.
bool is_placeholder(const Dim& dim) {
  if (!dim.is_symbol()) return false;
  const std::set<std::string> symbols = dim.symbols();
  const std::string& name = *symbols.begin();
  static const std::set<std::string_view> words = {"None", "none", "null", "unk", "unknown", "Unknown"};
  const bool has_letter = std::any_of(name.begin(), name.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
  });
  return !has_letter || words.contains(name);
}

}  // namespace

std::string describe(const onnx::NodeProto& proto) {
  if (!proto.name().empty()) return proto.name();
  return proto.op_type() + (proto.output_size() > 0 ? " -> " + proto.output(0) : "");
}

Error made_twice(const std::string& name, const onnx::NodeProto& proto) {
  return bad_input("the value '{}' is made twice", name)
      .at_node(describe(proto))
      .advise("values are assigned once; rename one of them");
}

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

std::optional<int64_t> newest_opset(const std::string& domain) {
  static const std::map<std::string, int64_t> newest = {{"", kNewestOpset},
                                                        {"ai.onnx.ml", 6},
                                                        {"ai.onnx.preview", 1},
                                                        {"ai.onnx.preview.training", 1},
                                                        {"ai.onnx.training", 1}};
  const auto found = newest.find(domain);
  return found == newest.end() ? std::nullopt : std::optional(found->second);
}

Value* const* GraphImporter::Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

GraphImporter::GraphImporter(const onnx::ModelProto& model, ExternalData& external,
                             std::vector<ImportNote>& notes)
    : model_(model), external_(external), notes_(notes) {
  for (const auto& entry : model.opset_import()) opsets_[canonical_domain(entry.domain())] = entry.version();
  if (opsets_.empty() && model.ir_version() < 3)
    assumed_opsets_[""] = opsets_[""] = 1;  // there were no others
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
  auto graph = import_graph(model_.graph(), nullptr);
  for_each_graph(*graph, [&](const Graph& inner) { note_deviations(inner); });
  return graph;
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
  import_inputs(proto, scope);
  import_initializers(proto, scope);
  import_nodes(proto.node(), scope, *active_opsets_);
  for (const auto& info : proto.value_info()) {
    const auto found = scope.values.find(info.name());
    if (found != scope.values.end() && !found->second->is_constant()) declare(*found->second, info.type());
  }
  import_outputs(proto, scope);
  --depth_;
  return graph;
}

void GraphImporter::import_inputs(const onnx::GraphProto& proto, Scope& scope) {
  for (const auto& input : proto.input()) {
    if (input.name().empty()) throw bad_input("graph '{}' has an input without a name", proto.name());
    if (scope.values.contains(input.name()))
      throw bad_input("input '{}' of graph '{}' is there twice", input.name(), proto.name());
    Value* value = scope.graph->add_input(unique_value_name(input.name(), scope), {});
    declare(*value, input.type());
    scope.values[input.name()] = value;
  }
}

void GraphImporter::import_outputs(const onnx::GraphProto& proto, Scope& scope) {
  for (const auto& output : proto.output()) {
    Value* const* found = scope.find(output.name());
    if (found == nullptr || *found == nullptr) {
      throw bad_input("output '{}' of graph '{}' is made by no node", output.name(), proto.name())
          .advise("remove the output or add its producer");
    }
    Value* value = *found;
    if (&value->graph() == scope.graph && value->producer() != nullptr && output.has_type())
      declare(*value, output.type());
    scope.graph->outputs.push_back(value);
  }
}

// The declaration keeps every text, for export; what inference starts from has real names only.
void GraphImporter::declare(Value& value, const onnx::TypeProto& type) {
  value.type = value_type_of(type);
  value.declared = value.type;
  if (!value.type.is_tensor() || !value.type.tensor.shape) return;
  for (Dim& dim : *value.type.tensor.shape) {
    if (!is_placeholder(dim)) continue;
    notes_.push_back(
        {"S5-dimension-names", "",
         fmt::format("value '{}' has a dimension named {}, which is taken for an unknown size of "
                     "its own wherever it stands",
                     value.name, dim.text()),
         "give equal sizes one name and others another"});
    dim = Dim(-1);
  }
}

void GraphImporter::import_initializers(const onnx::GraphProto& proto, Scope& scope) {
  const auto add = [&](const std::string& name, Tensor tensor) {
    if (name.empty()) throw bad_input("an initializer of graph '{}' has no name", proto.name());
    const auto found = scope.values.find(name);
    if (found == scope.values.end()) {
      scope.values[name] = scope.graph->add_constant(unique_value_name(name, scope), std::move(tensor));
      return;
    }
    Value& input = *found->second;  // a weight that is listed as an input, too
    if (input.is_constant()) {
      notes_.push_back({"S4-initializer-twice", "",
                        fmt::format("initializer '{}' is there twice; the last one counts", name),
                        "remove the others"});
    }
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
    if (scope.values.contains(name)) throw made_twice(name, proto);
    scope.values[name] = scope.graph->add_value(unique_value_name(name, scope));
  }
}

// A name may occur in a body that was inlined before, in the other branch of an If, or in the graphs around
// a body. All names of a graph are taken before those of the bodies inside, so values of the main graph,
// which users know, keep theirs.
std::string GraphImporter::unique_value_name(const std::string& name, const Scope& scope) {
  std::string unique = scope.prefix + name;
  for (int k = 1; !value_names_.insert(unique).second; ++k)
    unique = fmt::format("{}{}#{}", scope.prefix, name, k);
  return unique;
}

void GraphImporter::import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                                 Scope& scope, const Opsets& opsets) {
  const auto counted = without_repeated_constants(nodes, scope);
  for (const auto* proto : counted) declare_outputs(*proto, scope);
  // ONNX asks for topological order, but files without it exist; a cycle is refused.
  std::map<std::string, size_t, std::less<>> producers;
  for (size_t i = 0; i < counted.size(); ++i) {
    for (const auto& name : counted[i]->output()) producers[name] = i;
  }
  std::vector<std::set<size_t>> after(counted.size());
  for (size_t i = 0; i < counted.size(); ++i) {
    for (const auto& name : free_names(*counted[i])) {
      if (const auto found = producers.find(name); found != producers.end()) after[i].insert(found->second);
    }
  }
  const auto order = topological_order(after);
  if (order.size() != after.size()) {
    for (size_t i = 0; i < counted.size(); ++i) {
      if (std::find(order.begin(), order.end(), i) == order.end()) {
        throw bad_input("its inputs depend on its own outputs (a cycle)")
            .at_node(describe(*counted[i]))
            .advise("remove one edge of the cycle");
      }
    }
  }
  for (const size_t index : order) import_node(*counted[index], scope, opsets);
}

Value* GraphImporter::resolve(const std::string& name, const onnx::NodeProto& proto,
                              const Scope& scope) const {
  if (name.empty()) return nullptr;
  Value* const* value = scope.find(name);
  if (value == nullptr) {
    throw bad_input("its input '{}' is no graph input, initializer or output of a node", name)
        .at_node(describe(proto))
        .advise("add the missing producer or initializer");
  }
  return *value;
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

int64_t GraphImporter::opset_of(const Node& node, const onnx::NodeProto& proto, const Opsets& opsets) {
  if (const auto opset = opsets.find(node.domain); opset != opsets.end()) return opset->second;
  if (const auto opset = opsets_.find(node.domain); opset != opsets_.end()) return opset->second;
  const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  if (opsets_.empty()) {
    throw bad_input("operator {} is of domain '{}', which the model does not import", node.op, domain)
        .at_node(describe(proto))
        .advise("add the domain to opset_import");
  }
  const auto [assumed, is_new] = assumed_opsets_.emplace(node.domain, newest_opset(node.domain).value_or(1));
  if (is_new) {
    notes_.push_back(
        {"S6-domain-not-imported", node.name,
         fmt::format("operator {} is of domain '{}', which the model does not import; opset {} is "
                     "taken",
                     node.op, domain, assumed->second),
         "add the domain to opset_import"});
  }
  return assumed->second;
}

void GraphImporter::import_node(const onnx::NodeProto& proto, Scope& scope, const Opsets& opsets) {
  if (--node_budget_ < 0)
    throw bad_input("the model expands to more than four million nodes").at_node(describe(proto));
  if (const auto* function = find_function(proto)) return inline_call(proto, *function, scope);
  auto node = std::make_unique<Node>();
  node->name = unique_node_name(proto, scope);
  node->domain = canonical_domain(proto.domain());
  node->op = proto.op_type();
  node->version = opset_of(*node, proto, opsets);
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

}  // namespace vernier
