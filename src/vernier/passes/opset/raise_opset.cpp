#include "vernier/passes/opset/raise_opset.h"

#include "vernier/passes/opset/flatten_softmax.h"
#include "vernier/passes/opset/opset_changes.h"

namespace vernier {

namespace {

constexpr int64_t kWithoutConsumedInputs = 6;

void raise(Graph& graph, Node& node, int64_t version, FreeNames& names) {
  if (node.version < kWithoutConsumedInputs) node.attributes.erase("consumed_inputs");
  const RaisedNode raised(graph, node, names);
  for (const OpsetChange& change : opset_changes()) {
    if (change.opset > version) break;
    if (change.op != node.op || node.version >= change.opset) continue;
    change.convert(raised);
    node.version = std::max(node.version, change.opset);
  }
  node.version = version;
}

}  // namespace

void raise_opset(Model& model, int64_t version) {
  for (auto& [domain, imported] : model.opsets) {
    if (!domain.empty()) continue;
    version = std::max(version, imported);
    for_each_graph(*model.graph, [&](const Graph& graph) {
      for (const auto& node : graph.nodes()) {
        if (node->domain.empty()) version = std::max(version, node->version);
      }
    });
    if (version > imported) model.ir_version = std::max(model.ir_version, ir_version_of_opset(version));
    imported = version;
    FreeNames names(*model.graph);
    for_each_graph(*model.graph, [&](Graph& graph) {
      flatten_softmaxes(graph, version, names);
      for (const auto& node : graph.nodes()) {
        if (node->domain.empty() && node->version < version) raise(graph, *node, version, names);
      }
    });
  }
}

int64_t ir_version_of_opset(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kSince[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8},
                                                    {13, 7},  {12, 7},  {11, 6},  {10, 5},  {9, 4},  {0, 3}};
  for (const auto& [since, ir] : kSince) {
    if (opset >= since) return ir;
  }
  return 3;
}

}  // namespace vernier
