#include "vernier/engine/describe.h"

#include "vernier/exec/bind_inputs.h"

namespace vernier {

std::string sizes_text(const Graph& graph, const std::vector<ValueType>& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", graph.inputs[i]->name, inputs[i].text());
  return text.empty() ? "a model without inputs" : text;
}

std::vector<ValueType> input_types(const Graph& graph, const NamedData& inputs) {
  return types_of(graph, bind_inputs(graph, inputs));
}

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) bytes += value->is_constant() ? value->constant->byte_size() : 0;
  });
  return bytes;
}

}  // namespace vernier
