// Signs give a hazard away at a node, where the reference with rounding is held against the one without.
#pragma once

#include "vernier/diagnose/hazards/ideal_comparison.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"

namespace vernier {

struct HazardSign {
  FailureClass failure;
  const Node* node = nullptr;    // of the graph
  const Node* member = nullptr;  // the same, or that of a group at which it is seen
  std::string sentence;          // "'square' reaches 9.3e+04 where FLOAT16 ends at 65504"
  // Something happens at the node itself: a number is out of the range of the type, or no integer any more.
  // Otherwise errors that the node reads become many times as large.
  bool is_event = false;
  bool overflows = false;  // an event at which a finite number becomes an infinity, or none
};

// Gives the sign of the node in the last run; nothing if it only rounds, or only passes on what is wrong
// already.
std::optional<HazardSign> hazard_sign(const Node& node, const RunPair& runs, const Surroundings& around);

// Whether the type of the value holds what the value means: no number leaves its range, and none becomes zero
// that something divides by.
bool survives(const Value& value, const RunPair& runs, const Surroundings& around);

}  // namespace vernier
