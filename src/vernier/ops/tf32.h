// The types of a graph do not say that a product may round its factors to TF32, for no tensor is stored in
// it. A precision plan says so by an attribute of the node, which importers take from no model.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

inline constexpr const char* kTf32Attribute = "tf32";  // of any product

// Whether factors that are floats may be rounded to TF32 before they are multiplied.
inline bool may_round_to_tf32(const Node& node) {
  return node.find_attribute(kTf32Attribute) != nullptr;
}
inline void let_round_to_tf32(Node& node) {
  node.attributes.insert_or_assign(kTf32Attribute, Attribute(int64_t{1}));
}

}  // namespace vernier::ops
