#include "vernier/backends/shared/pointwise/some_sizes.h"

namespace vernier::pointwise {

namespace {

// Each symbol has a size of its own.
Dims some_sizes(const Shape& shape, SymbolValues& symbols) {
  constexpr int64_t kFirst = 1009, kStep = 2;
  Dims dims;
  for (const Dim& dim : shape) {
    for (const std::string& symbol : dim.symbols())
      symbols.try_emplace(symbol, kFirst + kStep * static_cast<int64_t>(symbols.size()));
    dims.push_back(std::max<int64_t>(1, dim.evaluate(symbols).value_or(kFirst)));
  }
  return dims;
}

}  // namespace

std::optional<KernelRequest> request_of_some_sizes(const Node& node) {
  KernelRequest request{node, {}, {}};
  SymbolValues symbols;
  const auto operand = [&](const Value* value) -> std::optional<Operand> {
    if (value == nullptr || !value->type.is_tensor() || !value->type.tensor.shape) return std::nullopt;
    return Operand{value->type.tensor.element, some_sizes(*value->type.tensor.shape, symbols), Layout::kPlain,
                   value->is_constant() ? &*value->constant : nullptr};
  };
  for (const Value* input : node.inputs) {
    request.inputs.push_back(operand(input));
    if (input != nullptr && !request.inputs.back()) return std::nullopt;
  }
  for (const Value* output : node.outputs) request.outputs.push_back(operand(output));
  if (node.outputs.size() != 1 || !request.wants(0)) return std::nullopt;
  return request;
}

}  // namespace vernier::pointwise
