// This file has what operators with a body share: If, Loop, Scan, SequenceMap.
#pragma once

#include "vernier/ops/infer_context.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// Throws bad_input if the node has no such region.
const Graph& require_region(const Node& node, std::string_view name);

// The region `body` of the node, whose outputs show those of the body behind the first `hidden` ones; throws
// bad_input if the node has no body or more outputs than that.
const Graph& require_body(const Node& node, size_t hidden = 0);

// The one element of a condition, if it is known.
std::optional<bool> known_condition(const ValueInfo& info);

// Where a body takes and gives the values that are carried from trip to trip.
struct Carried {
  size_t first_input, first_output, count;
};

// Infers a body that runs again and again, with carried types that hold for every trip: a carried dimension
// that does not keep its initial size becomes fresh. Gives the body's outputs.
std::vector<ValueInfo> infer_loop_body(InferContext& context, const Graph& body,
                                       std::vector<ValueInfo> inputs, Carried carried);

// The type of a carried value after the last trip, of which there may have been none.
ValueType final_type(const InferContext& context, const ValueType& initial, const ValueType& carried);

// Sizes of output `index` of a body that has not run: those that follow from its inputs, and 0 for all
// others.
Dims dims_without_run(const Graph& body, const std::vector<Datum>& inputs, size_t index);

}  // namespace vernier::ops
