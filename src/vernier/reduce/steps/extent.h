// A size that occurs somewhere in a case, and that may be made smaller together with others. Internal to the
// room.
#pragma once

#include "vernier/reduce/repro_case.h"

namespace vernier {

struct Extent {
  enum class Kind : uint8_t {
    kAxis,       // of an input or a constant of the main graph
    kEntry,      // an element of a constant that holds sizes
    kAttribute,  // an integer attribute, or an element of one that is a list
  };
  Kind kind = Kind::kAxis;
  std::string name;       // of the value, or of the node
  std::string attribute;  // kAttribute
  size_t index = 0;       // of the axis, or of the element
  int64_t size = 0;
};

// Gives the extents of at least 2, in the order of inputs, constants and nodes.
std::vector<Extent> extents_of(const ReproCase& whole);

// Makes an extent of `times` * `from` one of `times` * `to`: of each run of `from` elements along the axis it
// keeps `to` of them, from `first` on.
void resize(ReproCase& whole, const Extent& extent, int64_t from, int64_t to, int64_t first);

}  // namespace vernier
