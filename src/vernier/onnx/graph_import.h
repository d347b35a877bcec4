// From protobuf graphs to IR graphs. Internal to the room: this header needs protobuf.
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "vernier/ir/graph.h"
#include "vernier/ir/import_note.h"
#include "vernier/onnx/tensor_proto.h"

namespace vernier {

using Opsets = std::map<std::string, int64_t, std::less<>>;

// "ai.onnx" and "" are the same domain.
std::string canonical_domain(const std::string& domain);
// The newest opset of a domain of ONNX itself that import understands; nothing for other domains.
std::optional<int64_t> newest_opset(const std::string& domain);

// The node's name, or what tells which one it is.
std::string describe(const onnx::NodeProto& proto);

// The error of a value that two nodes make, of which this is the second.
Error made_twice(const std::string& name, const onnx::NodeProto& proto);

class GraphImporter {
 public:
  // Adds to `notes` what is wrong in the model and is worked around.
  GraphImporter(const onnx::ModelProto& model, ExternalData& external, std::vector<ImportNote>& notes);
  std::unique_ptr<Graph> import();
  // Gives the domains that are used and not imported. ONNX Runtime takes their newest opset, and so does
  // import.
  const Opsets& assumed_opsets() const { return assumed_opsets_; }
  // By name, the operators of calls of local functions.
  const std::map<std::string, std::string>& calls() const { return calls_; }

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
    // Null: nothing has that name. A null value inside: an input of the function that the call leaves out.
    Value* const* find(const std::string& name) const;
  };

  std::unique_ptr<Graph> import_graph(const onnx::GraphProto& proto, Scope* outer);
  void import_initializers(const onnx::GraphProto& proto, Scope& scope);
  void import_inputs(const onnx::GraphProto& proto, Scope& scope);
  void import_outputs(const onnx::GraphProto& proto, Scope& scope);
  void declare(Value& value, const onnx::TypeProto& type);
  void declare_outputs(const onnx::NodeProto& proto, Scope& scope);
  void import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope,
                    const Opsets& opsets);
  // The nodes without constants that others of their name override: of several the last one counts, as ONNX
  // Runtime has it, more than that an initializer of that name, and most what is fed to an input.
  std::vector<const onnx::NodeProto*> without_repeated_constants(
      const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope);
  void note_deviations(const Graph& graph);
  void import_node(const onnx::NodeProto& proto, Scope& scope, const Opsets& opsets);
  void inline_call(const onnx::NodeProto& proto, const onnx::FunctionProto& function, Scope& scope);
  // Makes the output of an inlined call from `made`, which has another name.
  void add_identity(const std::string& name, Value* made, Value* wanted, Graph& graph);
  int64_t opset_of(const Node& node, const onnx::NodeProto& proto, const Opsets& opsets);
  void import_attributes(const onnx::NodeProto& proto, Node& node, Scope& scope, const Opsets& opsets);
  // Notes it, if so.
  bool is_unknown_attribute(const std::string& name, const Node& node);
  // The attribute a name inside a function body refers to: the caller's, or the function's default; may be
  // null.
  const onnx::AttributeProto* referred(const std::string& name, const Scope& scope, Scope** holder) const;
  Attribute attribute_of(const onnx::AttributeProto& proto);
  // A name for a value of the scope that no other value of the model has, in whatever graph.
  std::string unique_value_name(const std::string& name, const Scope& scope);
  std::string unique_node_name(const onnx::NodeProto& proto, const Scope& scope);
  Value* resolve(const std::string& name, const onnx::NodeProto& proto, const Scope& scope) const;
  const onnx::FunctionProto* find_function(const onnx::NodeProto& proto) const;

  const onnx::ModelProto& model_;
  ExternalData& external_;
  std::vector<ImportNote>& notes_;
  Opsets opsets_, assumed_opsets_;
  std::map<std::string, const onnx::FunctionProto*> functions_;  // "domain:name:overload"
  std::map<std::string, std::string> calls_;
  std::unordered_set<std::string> node_names_, value_names_;
  const Opsets* active_opsets_ = nullptr;
  static constexpr int kMaxDepth = 100;  // of nested graphs and function calls
  int depth_ = 0;
  int64_t node_budget_ = 4'000'000;  // functions that call each other can multiply without end
};

// Which values a node reads, those that its bodies capture included. Internal to the room: this header needs
// protobuf.

// Names of the inputs of the node, and of what the graphs in its attributes read from outside of themselves.
std::set<std::string> free_names(const onnx::NodeProto& node);

}  // namespace vernier
