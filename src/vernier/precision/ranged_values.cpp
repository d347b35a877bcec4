#include "vernier/precision/ranged_values.h"

#include <algorithm>

#include "vernier/passes/build.h"
#include "vernier/precision/node_class.h"

namespace vernier {

std::vector<size_t> ranged_inputs(const Node& node) {
  if (!node.domain.empty() || (node.op != "Conv" && node.op != "MatMul" && node.op != "Gemm")) return {};
  std::vector<size_t> result;
  for (size_t i = 0; i < 2; ++i) {
    const Value* input = node.input(i);
    if (input == nullptr || element_of(input) != ElementType::kFloat) return {};
    const bool is_weights = i == 1 && (input->is_constant() || known_content(input));
    if (!is_weights) result.push_back(i);
  }
  return result;
}

std::vector<const Value*> ranged_values(const Graph& graph) {
  std::vector<const Value*> values;
  for (const auto& node : graph.nodes()) {
    if (reads_dequantised(*node)) continue;
    for (const size_t i : ranged_inputs(*node)) {
      const Value* input = node->input(i);
      if (std::find(values.begin(), values.end(), input) == values.end()) values.push_back(input);
    }
  }
  return values;
}

}  // namespace vernier
