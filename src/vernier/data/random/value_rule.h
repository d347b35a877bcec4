// Which values suit an input of a model, concluded from what the graph does with them. Internal to the room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/data/random/graph_uses.h"
#include "vernier/ir/graph.h"

namespace vernier {

// Ordered: where the graph uses an input in several ways, the highest kind decides.
enum class RuleKind : uint8_t {
  kFree,      // anything of the element type
  kInterval,  // real numbers in [low, high]
  kChoices,   // one of some numbers that the graph compares with
  kMask,      // rows of ones, then zeros
  kSizes,     // small integers that become sizes or counts
  kNewShape,  // a shape for Reshape
  kIndices,   // indices into an axis
  kLengths,   // lengths of sequences
};

// Inclusive; the upper bound may be a size that is known only with the shapes, or never.
struct IntegerBounds {
  Dim low = 0;
  std::optional<Dim> high;
};

struct ValueRule {
  RuleKind kind = RuleKind::kFree;
  std::vector<IntegerBounds> bounds;  // kIndices, kLengths, kSizes: all of them hold
  double low = 0, high = 0;           // kInterval
  std::vector<double> choices;        // kChoices
  bool one_hides = false;             // kMask: a one hides what it covers, so not all may be ones
  std::vector<std::string> why;       // "indices of Gather 'embed'"
  // Each element of a list that the graph splits has a rule of its own. Empty for other lists.
  std::vector<ValueRule> elements;

  // Takes over what another use demands.
  void merge(ValueRule other);
};

// The rules for all inputs without a default.
std::map<const Value*, ValueRule> value_rules(const Model& model);

// These functions say what one use of a value demands of its elements, for operators where an arbitrary value
// would be an error or would give NaN. Internal to the room.

// The demand of `use`, or nothing. Bounds and intervals are about the elements that the node reads.
std::optional<ValueRule> rule_of_use(const Use& use);

}  // namespace vernier
