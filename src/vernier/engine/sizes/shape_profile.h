// The sizes of inputs that an engine is built for: from the smallest to the largest, with those it is tuned
// at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

struct DimRange {
  int64_t min = 0, opt = 0, max = 0;
  bool operator==(const DimRange&) const = default;
};

struct ShapeProfile {
  std::map<std::string, std::vector<DimRange>> inputs;  // by name; one that is left out has the model's sizes

  bool operator==(const ShapeProfile&) const = default;
  // "x: 1..1..8x3x224x224"
  std::string text() const;
  // The types of the graph's inputs at these sizes of the profile. Throws bad_input where a size is in
  // neither.
  std::vector<ValueType> types(const Graph& graph, int64_t DimRange::*size) const;
  // Types at sizes between these, all dimensions on their way from min over opt to max at once, so near to
  // one another that none is more than doubled twice from one to the next; at most two between opt and either
  // end. A size is a multiple of what min, opt and max are all multiples of. The model need not take them.
  std::vector<std::vector<ValueType>> types_between(const Graph& graph) const;
};

// Throws bad_input for an input that is unknown, of another rank, or of fixed sizes that the profile does not
// hold, and for ranges that are not min <= opt <= max.
void check_profile(const ShapeProfile& profile, const Graph& graph);

// Whether inputs of these types are in the profile.
bool is_within(const ShapeProfile& profile, const Graph& graph, const std::vector<ValueType>& inputs);

// Throws bad_input, naming the nearest profile, input and dimension, if inputs of these types are in none.
// No profiles: everything is.
void require_profile(const std::vector<ShapeProfile>& profiles, const Graph& graph,
                     const std::vector<ValueType>& inputs);

}  // namespace vernier
