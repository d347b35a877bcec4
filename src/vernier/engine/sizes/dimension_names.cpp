#include "vernier/engine/sizes/dimension_names.h"

namespace vernier {

namespace {

// Calls visit(input, axis, dimension) for every dimension of the inputs that is a name or an expression of
// some.
template <class Visit>
void for_each_free(const Graph& graph, const Visit& visit) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueType& type = graph.inputs[i]->type;
    if (!type.is_tensor() || !type.tensor.shape) continue;
    for (size_t axis = 0; axis < type.tensor.shape->size(); ++axis) {
      const Dim& dim = (*type.tensor.shape)[axis];
      if (!dim.is_constant()) visit(i, axis, dim);
    }
  }
}

}  // namespace

bool shares_names(const Graph& graph) {
  std::set<std::string> names;
  bool shares = false;
  for_each_free(graph, [&](size_t, size_t, const Dim& dim) {
    shares = !dim.is_symbol() || !names.insert(dim.text()).second || shares;
  });
  return shares;
}

bool contradicts_names(const Graph& graph, const std::vector<ValueType>& inputs) {
  const auto size_at = [&](size_t input, size_t axis) -> std::optional<int64_t> {
    const ValueType& type = inputs.at(input);
    if (!type.is_tensor() || !type.tensor.shape || axis >= type.tensor.shape->size()) return std::nullopt;
    return (*type.tensor.shape)[axis].constant();
  };
  SymbolValues sizes;
  bool contradicts = false;
  for_each_free(graph, [&](size_t input, size_t axis, const Dim& dim) {
    const auto size = dim.is_symbol() ? size_at(input, axis) : std::nullopt;
    if (size)
      contradicts = sizes.emplace(*dim.symbols().begin(), *size).first->second != *size || contradicts;
  });
  for_each_free(graph, [&](size_t input, size_t axis, const Dim& dim) {
    const auto size = size_at(input, axis), promised = dim.evaluate(sizes);
    contradicts = (size && promised && *size != *promised) || contradicts;
  });
  return contradicts;
}

void separate_names(Graph& graph) {
  for (Value* input : graph.inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (Dim& dim : *input->type.tensor.shape) {
      if (!dim.is_constant()) dim = Dim(-1);
    }
  }
}

}  // namespace vernier
