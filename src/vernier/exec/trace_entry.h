// Runners that know the graph describe a value of a trace so.
#pragma once

#include "vernier/compare/trace.h"
#include "vernier/ir/graph.h"
#include "vernier/tensor/set_aside.h"

namespace vernier {

// The element type of a tensor, or of the tensors inside a sequence or optional.
inline ElementType element_type_of(const ValueType& type) {
  const ValueType* inner = &type;
  while (!inner->is_tensor() && inner->element) inner = inner->element.get();
  return inner->tensor.element;
}

// Inner values are set aside: all of a model may be asked for.
inline TraceEntry make_trace_entry(const Value& value, Datum datum, bool is_output) {
  if (!is_output && datum.is_tensor()) datum.tensor = set_aside(datum.tensor);
  TraceEntry entry{value.name, std::move(datum), is_output, element_type_of(value.type), {}};
  if (const Node* producer = value.producer()) {
    entry.nodes.assign(producer->provenance.begin(), producer->provenance.end());
    if (entry.nodes.empty()) entry.nodes.push_back(producer->name);
  }
  return entry;
}

}  // namespace vernier
