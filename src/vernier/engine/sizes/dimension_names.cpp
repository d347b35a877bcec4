#include "vernier/engine/sizes/dimension_names.h"

namespace vernier {

namespace {

// Calls visit(input, axis, name) for every named dimension of the inputs.
template <class Visit>
void for_each_name(const Graph& graph, const Visit& visit) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueType& type = graph.inputs[i]->type;
    if (!type.is_tensor() || !type.tensor.shape) continue;
    for (size_t axis = 0; axis < type.tensor.shape->size(); ++axis) {
      const Dim& dim = (*type.tensor.shape)[axis];
      if (dim.is_symbol()) visit(i, axis, dim.text());
    }
  }
}

}  // namespace

bool shares_names(const Graph& graph) {
  std::set<std::string> names;
  bool shares = false;
  for_each_name(
      graph, [&](size_t, size_t, const std::string& name) { shares = !names.insert(name).second || shares; });
  return shares;
}

bool contradicts_names(const Graph& graph, const std::vector<ValueType>& inputs) {
  SymbolValues sizes;
  bool contradicts = false;
  for_each_name(graph, [&](size_t input, size_t axis, const std::string& name) {
    const ValueType& type = inputs.at(input);
    if (!type.is_tensor() || !type.tensor.shape || axis >= type.tensor.shape->size()) return;
    const auto size = (*type.tensor.shape)[axis].constant();
    if (!size) return;
    contradicts = sizes.emplace(name, *size).first->second != *size || contradicts;
  });
  return contradicts;
}

void separate_names(Graph& graph) {
  for (Value* input : graph.inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (Dim& dim : *input->type.tensor.shape) {
      if (dim.is_symbol()) dim = Dim(-1);
    }
  }
}

}  // namespace vernier
