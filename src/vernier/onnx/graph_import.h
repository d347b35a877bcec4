// From protobuf graphs to IR graphs. Internal to the room: this header needs protobuf.
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <map>
#include <string>
#include <unordered_set>

#include "vernier/ir/graph.h"
#include "vernier/onnx/tensor_proto.h"

namespace vernier {

using Opsets = std::map<std::string, int64_t, std::less<>>;

// "ai.onnx" and "" are the same domain.
std::string canonical_domain(const std::string& domain);

class GraphImporter {
 public:
  GraphImporter(const onnx::ModelProto& model, ExternalData& external);
  std::unique_ptr<Graph> import();

 private:
  // Names visible at a point of the model, with those of the graphs around it.
  struct Scope {
    Scope* outer = nullptr;
    Graph* graph = nullptr;
    std::string prefix;  // of an inlined function call
    std::map<std::string, Value*, std::less<>> values;
    const onnx::NodeProto* call = nullptr;  // the call being inlined, for attribute references
    const onnx::FunctionProto* function = nullptr;
    Scope* caller = nullptr;  // where the call's own references are resolved
    Value* find(const std::string& name) const;
  };

  std::unique_ptr<Graph> import_graph(const onnx::GraphProto& proto, Scope* outer);
  void import_initializers(const onnx::GraphProto& proto, Scope& scope);
  void declare_outputs(const onnx::NodeProto& proto, Scope& scope);
  void import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope,
                    const Opsets& opsets);
  void import_node(const onnx::NodeProto& proto, Scope& scope, const Opsets& opsets);
  void inline_call(const onnx::NodeProto& proto, const onnx::FunctionProto& function, Scope& scope);
  void import_attributes(const onnx::NodeProto& proto, Node& node, Scope& scope, const Opsets& opsets);
  // The attribute a name inside a function body refers to: the caller's, or the function's default; may be
  // null.
  const onnx::AttributeProto* referred(const std::string& name, const Scope& scope, Scope** holder) const;
  Attribute attribute_of(const onnx::AttributeProto& proto);
  std::string unique_node_name(const onnx::NodeProto& proto, const Scope& scope);
  Value* resolve(const std::string& name, const onnx::NodeProto& proto, const Scope& scope) const;
  const onnx::FunctionProto* find_function(const onnx::NodeProto& proto) const;

  const onnx::ModelProto& model_;
  ExternalData& external_;
  Opsets opsets_;
  std::map<std::string, const onnx::FunctionProto*> functions_;  // "domain:name:overload"
  std::unordered_set<std::string> node_names_, value_names_;
  const Opsets* active_opsets_ = nullptr;
  int depth_ = 0;
  int64_t node_budget_ = 4'000'000;  // functions that call each other can multiply without end
};

}  // namespace vernier
