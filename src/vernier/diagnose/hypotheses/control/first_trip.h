// Looks into the body of a Loop or Scan when it runs for the causes that there may be at its nodes.
#pragma once

#include "vernier/diagnose/hypotheses/control/lone_node.h"

namespace vernier {

struct TypeAndDims {
  ElementType type;
  Dims dims;
  bool operator==(const TypeAndDims&) const = default;
};

// A cause at one node of the body, by its place there.
struct BodyCause {
  size_t node;
  const Hypothesis* family;
  size_t number;  // among those of the family
  FailureClass failure;
  std::string what;
  double penalty;
};

// The first trip's values, and the causes that suit its nodes.
struct FirstTrip {
  std::vector<BodyCause> causes;
  std::map<std::string, TypeAndDims> values;  // that nodes of the body read or made
  double seconds = 0;                         // of all trips
};

inline Graph& body_of(LoneNode& alone) {
  return *alone.node().region("body");
}

// Throws what the reference throws.
FirstTrip first_trip(const Member& member, const HypothesisContext& context);

// Runs the Loop or Scan with the cause in every trip. Throws unsupported where a trip gives no occasion
// for it.
Tensors run_with(const Member& member, const HypothesisContext& context, const BodyCause& cause);

}  // namespace vernier
