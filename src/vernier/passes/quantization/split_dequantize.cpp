// Gives each operator that computes with real numbers a DequantizeLinear of its own. It costs nothing where
// it is computed with its reader, and then the tensor in between is one of integers.
#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/op_def.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/quantization/quantization.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

bool computes_with(const Node* reader, const Node& dequantize) {
  if (reader == nullptr || &reader->graph() != &dequantize.graph()) return false;
  const auto* def = ops::OpRegistry::instance().find(*reader);
  return def != nullptr && (def->traits & (ops::kPointwise | ops::kContraction | ops::kReduction)) != 0;
}

int split(Graph& graph, Node* dequantize) {
  const Uses uses(graph);
  Value* shared = dequantize->output(0);
  std::set<Node*> readers;
  size_t others = 0;  // which go on sharing
  for (Node* reader : uses.readers(shared)) {
    if (!computes_with(reader, *dequantize))
      ++others;
    else
      readers.insert(reader);
  }
  std::vector<std::unique_ptr<Node>> copies;
  ValueMap same;
  copies.push_back(clone(*dequantize, same, &graph));
  copies.back()->outputs = {shared};
  // In the order of the graph, so that the names do not depend on addresses.
  for (const auto& node : graph.nodes()) {
    if (!readers.contains(node.get())) continue;
    if (others == 0) {
      others = 1;
      continue;
    }
    Value* own = graph.add_value(free_name(graph, shared->name + "/copy"), shared->type);
    copies.push_back(clone(*dequantize, same, &graph));
    copies.back()->name = own->name;
    copies.back()->outputs = {own};
    std::replace(node->inputs.begin(), node->inputs.end(), shared, own);
  }
  const int made = static_cast<int>(copies.size()) - 1;
  if (made > 0) Rewriter(graph).replace({dequantize}, std::move(copies));
  return made;
}

int split_in(Graph& graph) {
  std::vector<Node*> shared;
  const Uses uses(graph);
  for (const auto& node : graph.nodes()) {
    if (is_dequantize(node.get()) && uses.count(node->output(0)) > 1) shared.push_back(node.get());
  }
  int made = 0;
  for (Node* node : shared) made += split(graph, node);
  return made;
}

}  // namespace

Pass split_dequantize() {
  return {"split-dequantize", NumericalClass::kExact, [](Graph& graph) {
            int made = 0;
            for_each_graph(graph, [&](Graph& inner) { made += split_in(inner); });
            return made;
          }};
}

}  // namespace vernier
