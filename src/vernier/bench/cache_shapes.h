// Shapes of caches, […, rows, size]. Internal to the room.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Nothing where it is no tensor of known rank with rows.
inline const Shape* shape_with_rows(const Value& value) {
  if (!value.type.is_tensor() || !value.type.tensor.shape || value.type.tensor.shape->size() < 2)
    return nullptr;
  return &*value.type.tensor.shape;
}

inline size_t rows_axis(const Shape& shape) {
  return shape.size() - 2;
}

// Whether `present` is `past` with other rows.
inline bool continues(const Value& present, const Value& past) {
  const Shape *longer = shape_with_rows(present), *shorter = shape_with_rows(past);
  if (longer == nullptr || shorter == nullptr || longer->size() != shorter->size() ||
      present.type.tensor.element != past.type.tensor.element)
    return false;
  for (size_t axis = 0; axis < longer->size(); ++axis) {
    if ((axis == rows_axis(*longer)) == ((*longer)[axis] == (*shorter)[axis])) return false;
  }
  return true;
}

}  // namespace vernier
