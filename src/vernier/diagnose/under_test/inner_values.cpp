#include "vernier/diagnose/under_test/inner_values.h"

#include <algorithm>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

namespace {

std::optional<size_t> declared_bytes(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape) return std::nullopt;
  const auto dims = to_dims(*value.type.tensor.shape);
  if (!dims) return std::nullopt;
  return static_cast<size_t>(element_count(*dims)) * element_size(value.type.tensor.element);
}

}  // namespace

std::map<std::string, size_t> bytes_of_values(const Graph& graph, const std::vector<std::string>& values,
                                              const NamedData& inputs) {
  const std::set<std::string> wanted(values.begin(), values.end());
  std::map<std::string, size_t> bytes;
  for (const auto& value : graph.values()) {
    if (!wanted.contains(value->name)) continue;
    if (const auto known = declared_bytes(*value)) bytes[value->name] = *known;
  }
  if (bytes.size() == wanted.size()) return bytes;
  InterpreterOptions options;
  options.observe = [&](const Value& value, const Datum& datum) {
    if (wanted.contains(value.name) && datum.is_tensor() && datum.tensor.is_defined())
      bytes[value.name] = datum.tensor.byte_size();
  };
  run_reference(graph, inputs, options);
  return bytes;
}

std::vector<std::vector<std::string>> in_batches(const std::vector<std::string>& values,
                                                 const std::map<std::string, size_t>& bytes, size_t most) {
  std::vector<std::vector<std::string>> batches;
  size_t held = 0;
  for (const std::string& value : values) {
    const auto known = bytes.find(value);
    const size_t size = known == bytes.end() ? 0 : known->second;
    if (batches.empty() || held + size > most) {
      batches.emplace_back();
      held = 0;
    }
    batches.back().push_back(value);
    held += size;
  }
  return batches;
}

std::set<std::string> settled_values(const Graph& graph) {
  std::set<const Value*> settled;
  std::set<std::string> names;
  for (const auto& node : graph.nodes()) {
    const bool is_settled = node->regions.empty() &&
                            std::all_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
                              return input == nullptr || input->is_constant() || settled.contains(input);
                            });
    if (!is_settled) continue;
    for (const Value* output : node->outputs) {
      if (output == nullptr) continue;
      settled.insert(output);
      names.insert(output->name);
    }
  }
  return names;
}

std::optional<NamedData> kept_aside(const Trace& trace, size_t most) {
  NamedData kept;
  size_t in_memory = 0;
  for (const TraceEntry& entry : trace.entries) {
    Datum& datum = kept[entry.value] = entry.datum;
    if (!datum.is_tensor()) continue;
    datum.tensor = set_aside(datum.tensor);
    if (!datum.tensor.is_deferred()) in_memory += datum.tensor.byte_size();
  }
  if (in_memory > most) return std::nullopt;
  return kept;
}

}  // namespace vernier
