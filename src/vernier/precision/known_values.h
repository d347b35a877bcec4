// Derives from constants what is known of the values of a graph. Valid until the graph changes.
#pragma once

#include <unordered_set>

#include "vernier/ir/graph.h"

namespace vernier {

class KnownValues {
 public:
  // `narrow` is FLOAT16 or BFLOAT16, or undefined: then no number is large.
  KnownValues(const Graph& graph, ElementType narrow);

  // Whether the node reads finite numbers that the narrow type rounds to infinity, as masks of attention are:
  // constants, or what is made of them element by element. An infinite mask makes NaN of a row of Softmax
  // that is masked throughout. Not so for operators like Sigmoid, which make the same of both.
  bool meets_large_numbers(const Node& node) const { return meets_large_.contains(&node); }
  // Whether the node moves elements of constants only, so that its results are constants, too.
  bool moves_constants(const Node& node) const { return moves_constants_.contains(&node); }

 private:
  void follow_large(const Node& node);
  void follow_constants(const Node& node);

  ElementType narrow_;
  std::unordered_set<const Value*> large_, constants_;
  std::unordered_set<const Node*> meets_large_, moves_constants_;
};

}  // namespace vernier
