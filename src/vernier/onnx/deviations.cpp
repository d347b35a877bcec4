// Handles what ONNX does not have and ONNX Runtime runs, because people have such models. It is run, and
// noted.
#include <algorithm>

#include "vernier/onnx/graph_import.h"

namespace vernier {

namespace {

bool is_constant_node(const onnx::NodeProto& proto) {
  return proto.op_type() == "Constant" && canonical_domain(proto.domain()).empty() &&
         proto.output_size() == 1 && !proto.output(0).empty();
}

// Experimental operators of the first opsets. Some became operators of ONNX in the opset beside them; 0:
// never.
bool is_removed(const Node& node) {
  static const std::map<std::string, int64_t, std::less<>> became = {{"Affine", 0},
                                                                     {"Crop", 0},
                                                                     {"DynamicSlice", 0},
                                                                     {"ImageScaler", 0},
                                                                     {"ParametricSoftplus", 0},
                                                                     {"Scale", 0},
                                                                     {"ScaledTanh", 0},
                                                                     {"ThresholdedRelu", 10},
                                                                     {"MeanVarianceNormalization", 9}};
  const auto found = became.find(node.op);
  return node.domain.empty() && found != became.end() && (found->second == 0 || node.version < found->second);
}

}  // namespace

std::vector<const onnx::NodeProto*> GraphImporter::without_repeated_constants(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope) {
  std::map<std::string, const onnx::NodeProto*, std::less<>> last;
  for (const auto& proto : nodes) {
    if (is_constant_node(proto)) last[proto.output(0)] = &proto;
  }
  const auto note = [&](const onnx::NodeProto& proto, const char* counts) {
    notes_.push_back({"S4-initializer-twice", describe(proto),
                      fmt::format("constant '{}' is there twice; {} counts", proto.output(0), counts),
                      "remove the others"});
  };
  std::vector<const onnx::NodeProto*> counted;
  for (const auto& proto : nodes) {
    const bool is_constant = is_constant_node(proto);
    const auto before = is_constant ? scope.values.find(proto.output(0)) : scope.values.end();
    if (is_constant && last[proto.output(0)] != &proto) {
      note(proto, "the last one");
    } else if (before == scope.values.end()) {
      counted.push_back(&proto);
    } else if (Value* value = before->second;
               std::count(scope.graph->inputs.begin(), scope.graph->inputs.end(), value) > 0) {
      note(proto, "the input of that name");
    } else {  // the node counts, and has the name
      note(proto, "the node");
      value_names_.erase(value->name);
      scope.values.erase(before);
      scope.graph->remove_values({value});
      counted.push_back(&proto);
    }
  }
  return counted;
}

void GraphImporter::note_deviations(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (is_removed(*node)) {
      notes_.push_back({"S8-removed-operator", node->name,
                        fmt::format("operator {} of opset {} is experimental, and ONNX has removed it",
                                    node->op, node->version),
                        "export the model again, with operators of ONNX"});
    }
    const auto& signal = node->input(0) == nullptr ? std::nullopt : node->input(0)->type.tensor.shape;
    if (node->domain.empty() && node->op == "STFT" && signal && signal->size() == 2) {
      notes_.push_back({"S9-signal-rank", node->name,
                        "the signal of STFT has 2 axes, and 3 in ONNX; a last one of 1 is taken",
                        "append an axis of 1 to it"});
    }
  }
}

}  // namespace vernier
