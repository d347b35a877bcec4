// How much work a model is at given sizes. Internal to the room.
#pragma once

#include <optional>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

class SizeJudge {
 public:
  explicit SizeJudge(const Graph& graph);

  // Multiplications of the reference, the cost of storing an element and of drawing one of the inputs counted
  // as so many; nothing if a value would have a dimension below 1. Sizes that only running can tell count
  // as 1.
  std::optional<double> work(const SymbolValues& symbols) const;

 private:
  // `factor` times the sizes at these places of `dims_`.
  struct Term {
    double factor = 1;
    std::vector<size_t> dims;
  };

  void add_size(Term& term, const Dim& dim);
  bool add_sizes(Term& term, const Value* value);
  void add_depth(Term& term, const Node& node);
  void add_columns(const Node& node);
  void add_elimination(const Node& node);

  std::vector<Dim> dims_;  // each symbolic size once
  std::vector<Term> terms_;
};

}  // namespace vernier
