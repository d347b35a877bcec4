#include "vernier/engine/model_values.h"

#include "vernier/exec/trace_entry.h"
#include "vernier/precision/apply.h"

namespace vernier {

ModelValues::ModelValues(const Graph& graph) {
  std::set<std::string_view> names;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) names.insert(value->name);
  });
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) {
      const ElementType type = element_type_of(value->type);
      const std::string wide(name_before_narrowing(value->name, type));
      if (wide.empty() || names.contains(wide) || !in_graph_.emplace(wide, Narrow{value->name, type}).second)
        continue;
      in_model_.emplace(value->name, wide);
    }
  });
}

const std::string& ModelValues::name_of(const Value& value) const {
  const auto found = in_model_.find(value.name);
  return found == in_model_.end() ? value.name : found->second;
}

const std::string& ModelValues::name_in_graph(const std::string& name) const {
  const auto found = in_graph_.find(name);
  return found == in_graph_.end() ? name : found->second.name;
}

TraceEntry ModelValues::entry_of(const Value& value, Datum datum) const {
  const std::string& name = name_of(value);
  if (&name == &value.name) return make_trace_entry(value, std::move(datum), false);
  datum.tensor = Tensor::from_doubles(ElementType::kFloat, datum.tensor.dims(), datum.tensor.to_doubles());
  TraceEntry entry = make_trace_entry(value, std::move(datum), false);
  entry.value = name;
  entry.declared = ElementType::kFloat;
  return entry;
}

NamedData ModelValues::in_graph(const NamedData& values) const {
  NamedData all;
  for (const auto& [name, datum] : values) {
    const auto found = in_graph_.find(name);
    if (found == in_graph_.end() || !datum.is_tensor()) {
      all.emplace(name, datum);
      continue;
    }
    const auto& [narrow, type] = found->second;
    all.emplace(narrow, Tensor::from_doubles(type, datum.tensor.dims(), datum.tensor.to_doubles()));
  }
  return all;
}

}  // namespace vernier
