#include "vernier/passes/opset/raise_opset.h"

#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
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

namespace {

constexpr int64_t kAlongOneAxis = 13;  // the first opset in which they are

void flatten(Graph& graph, Node& node, int64_t version, FreeNames& names) {
  Value *input = node.input(0), *output = node.output(0);
  const auto add_value = [&](std::string_view what) {
    return graph.add_value(names.take(fmt::format("{}/{}", output->name, what)));
  };
  Value *rows = add_value("rows"), *made = add_value("of_rows"), *sizes = nullptr;
  std::vector<std::unique_ptr<Node>> nodes;
  nodes.push_back(make_node("Flatten", version, {input}, rows));
  nodes.back()->attributes["axis"] = Attribute(ops::softmax_axis(node));
  ValueMap inside{{input, rows}, {output, made}};
  nodes.push_back(clone(node, inside, &graph));
  nodes.back()->version = version;
  nodes.back()->attributes["axis"] = Attribute(int64_t{-1});
  if (const auto dims = known_dims(*input)) {
    const Dims shape{static_cast<int64_t>(dims->size())};
    sizes = graph.add_constant(names.take(output->name + "/sizes"),
                               Tensor::from_ints(ElementType::kInt64, shape, *dims));
  } else {
    sizes = add_value("sizes");
    nodes.push_back(make_node("Shape", version, {input}, sizes));
  }
  nodes.push_back(make_node("Reshape", version, {made, sizes}, output));
  nodes.back()->name += "/reshape";
  Rewriter(graph).replace({&node}, std::move(nodes));
}

}  // namespace

bool joins_axes(const Node& node) {
  if (!node.domain.empty() || node.version >= kAlongOneAxis ||
      (node.op != "Softmax" && node.op != "LogSoftmax" && node.op != "Hardmax"))
    return false;
  const auto rank = known_rank(*node.input(0));
  if (!rank) return true;
  const int64_t axis = ops::softmax_axis(node);
  const auto first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(*rank) : axis);
  const Shape& shape = *node.input(0)->type.tensor.shape;
  return std::any_of(shape.begin() + static_cast<ptrdiff_t>(std::min(first + 1, *rank)), shape.end(),
                     [](const Dim& size) { return !(size == Dim(1)); });
}

void flatten_softmaxes(Graph& graph, int64_t version, FreeNames& names) {
  if (version < kAlongOneAxis) return;
  std::vector<Node*> found;
  for (const auto& node : graph.nodes()) {
    if (joins_axes(*node)) found.push_back(node.get());
  }
  for (Node* node : found) flatten(graph, *node, version, names);
}

}  // namespace vernier
