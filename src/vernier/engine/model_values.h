// Which values of a model an engine has, and under which names. Where a plan stores a value in a narrower
// type and nobody reads it as floats, the narrow one (apply_precision) is all that there is.
#pragma once

#include <map>

#include "vernier/compare/trace.h"
#include "vernier/exec/runner.h"
#include "vernier/ir/graph.h"

namespace vernier {

class ModelValues {
 public:
  explicit ModelValues(const Graph& graph);

  // As the model calls what this value holds.
  const std::string& name_of(const Value& value) const;
  // As the graph calls what a value of the model holds; the same name if it is in neither.
  const std::string& name_in_graph(const std::string& name) const;
  // An inner value as the model has it: under its name, and of its type.
  TraceEntry entry_of(const Value& value, Datum datum) const;
  // The same contents by the names and in the types that the graph has.
  NamedData in_graph(const NamedData& values) const;

 private:
  struct Narrow {
    std::string name;  // in the graph
    ElementType type;
  };
  std::map<std::string, std::string, std::less<>> in_model_;  // by the name in the graph
  std::map<std::string, Narrow, std::less<>> in_graph_;       // by the name in the model
};

}  // namespace vernier
