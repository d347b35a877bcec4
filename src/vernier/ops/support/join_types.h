// Types of values that may come from several places: the branches of an If, the trips of a Loop, the elements
// of a sequence.
#pragma once

#include <functional>

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// Gives the dimension that is `a` in one place and `b`, which differs, in another.
using MeetDims = std::function<Dim(const Dim& a, const Dim& b)>;

// A type that holds for both; of another rank: of unknown rank. A value that is optional in one place is
// optional. Throws bad_input where no type holds for both.
ValueType join_types(const ValueType& a, const ValueType& b, const MeetDims& meet);
// The same with a fresh dimension wherever two differ.
ValueType join_types(const InferContext& context, const ValueType& a, const ValueType& b);

// The element type of a sequence, checked, and the same for one element taken out of it. A fresh dimension in
// the type of a sequence may differ from element to element, so each element taken out gets dimensions of its
// own.
const ValueType& sequence_element(const InferContext& context, size_t input);
ValueType taken_element(const InferContext& context, size_t input);

}  // namespace vernier::ops
