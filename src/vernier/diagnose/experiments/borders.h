#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// The values that the first nodes of a graph, in execution order, make for the others: who knows them needs
// none of the first nodes. What is no result of any operand is no such value.
class Borders {
 public:
  explicit Borders(const Graph& graph);  // which outlives this

  size_t nodes() const { return graph_.nodes().size(); }
  // Between the first so many nodes and the others. Outputs of the graph are left out.
  std::vector<std::string> at(size_t first) const;
  // Behind the node that makes the value.
  std::vector<std::string> behind(const std::string& value) const;

 private:
  struct Span {
    size_t made = 0, read = 0;  // numbers of the node, and of the last that reads it
    std::string name;
  };

  const Graph& graph_;
  std::vector<Span> spans_;  // in the order of making
};

}  // namespace vernier
