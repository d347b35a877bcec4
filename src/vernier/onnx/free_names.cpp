#include "vernier/onnx/graph_import.h"

namespace vernier {

namespace {

std::set<std::string> free_names(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& node : graph.node()) names.merge(vernier::free_names(node));
  for (const auto& output : graph.output()) names.insert(output.name());
  // A value that the graph makes itself hides an outer value of that name.
  for (const auto& input : graph.input()) names.erase(input.name());
  for (const auto& tensor : graph.initializer()) names.erase(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.erase(tensor.values().name());
  for (const auto& node : graph.node()) {
    for (const auto& output : node.output()) names.erase(output);
  }
  return names;
}

}  // namespace

std::set<std::string> free_names(const onnx::NodeProto& node) {
  std::set<std::string> names(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) names.merge(free_names(attribute.g()));
    for (const auto& graph : attribute.graphs()) names.merge(free_names(graph));
  }
  names.erase("");  // an omitted input
  return names;
}

}  // namespace vernier
