// A decoder in whose file there are two, as Optimum merges them: the branches of an If, one for the first
// run, without a past, and one with it. An input chooses. Internal to the room.
#pragma once

#include <optional>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

// Shapes of caches, […, rows, size]. Internal to the room.

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

struct MergedDecoder {
  struct Handed {
    size_t input, output;  // in the order of the graph
  };

  size_t chooses = 0;                       // the input of one bool
  bool with_past = true;                    // what it holds where there is a past
  std::vector<const Value*> presents = {};  // by output of the graph: what the branch with the past makes
  // An encoder's results: the first run makes them, and later ones read them as they are.
  std::vector<Handed> handed = {};
};

// Nothing where no input of one bool chooses a branch that puts rows behind those of another input.
std::optional<MergedDecoder> find_merged_decoder(const Graph& graph);

}  // namespace vernier
