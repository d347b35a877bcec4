#include "vernier/onnx/dimension_expressions.h"

namespace vernier {

namespace {

template <class Visit>
void for_each_name(const Graph& graph, const Visit& visit) {
  for (Value* input : graph.inputs) {
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (Dim& dim : *input->type.tensor.shape) {
      if (dim.is_symbol()) visit(dim);
    }
  }
}

std::string name_of(const Dim& symbol) {
  return *symbol.symbols().begin();
}

bool vanishes_with_all(const Dim& expression) {
  SymbolValues zeros;
  for (const std::string& name : expression.symbols()) zeros[name] = 0;
  return expression.evaluate(zeros) == 0;
}

// Reads a name as an expression; gives nothing if it is no more than a name. "past + 1" is no expression
// either: exporters say so of a step of one token, and the same models take more.
std::optional<Dim> expression_of(const std::string& name) {
  try {
    Dim expression = Dim::parse(name);
    const bool follows =
        !expression.is_symbol() && !expression.is_constant() && vanishes_with_all(expression);
    return follows ? std::optional(expression) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void read_dimension_expressions(Graph& graph) {
  std::set<std::string> plain;
  for_each_name(graph, [&](const Dim& dim) {
    if (!expression_of(name_of(dim))) plain.insert(name_of(dim));
  });
  for_each_name(graph, [&](Dim& dim) {
    const auto expression = expression_of(name_of(dim));
    if (!expression) return;
    const auto symbols = expression->symbols();
    if (std::includes(plain.begin(), plain.end(), symbols.begin(), symbols.end())) dim = *expression;
  });
}

}  // namespace vernier
