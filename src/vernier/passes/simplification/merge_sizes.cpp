// Exporters compute sizes anew in each layer, from a Shape of its own. Values that follow from the sizes of
// the inputs in the same way are one, so that what is computed from them, such as a mask, is equal in all
// layers, too.
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

struct SizesKey {
  ElementType type;
  Dims dims;
  std::vector<std::string> elements;

  auto operator<=>(const SizesKey&) const = default;
};

int merge_in(Graph& graph) {
  const auto report = ops::infer_types(graph);
  std::map<SizesKey, Value*> firsts;
  int merged = 0;
  for (const auto& node : graph.nodes()) {
    for (Value* output : node->outputs) {
      const auto found = report.sizes.find(output);
      if (output == nullptr || found == report.sizes.end()) continue;
      SizesKey key{output->type.tensor.element, *to_dims(*output->type.tensor.shape), {}};
      for (const Dim& element : found->second) key.elements.push_back(element.text());
      const auto [first, is_new] = firsts.emplace(std::move(key), output);
      if (is_new || std::find(graph.outputs.begin(), graph.outputs.end(), output) != graph.outputs.end())
        continue;
      graph.replace_uses(output, first->second);
      ++merged;
    }
  }
  return merged;
}

}  // namespace

Pass merge_sizes() {
  return {"merge-sizes", NumericalClass::kExact, merge_in};
}

}  // namespace vernier
