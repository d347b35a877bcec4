// Attributes that name an element type by ONNX's number.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

// Throws bad_input if the number names no type.
inline ElementType element_type_attribute(const Node& node, std::string_view name, ElementType fallback) {
  const auto number = node.attribute<int64_t>(name, static_cast<int64_t>(fallback));
  if (number <= 0 || number >= kElementTypeCount)
    throw bad_input("'{}' is {}, which is no element type", name, number);
  return static_cast<ElementType>(number);
}

}  // namespace vernier::ops
