// An engine that holds numbers of a node in a narrow format, and what the node makes then.
#pragma once

#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/hypotheses/precision/narrow_format.h"

namespace vernier {

struct PrecisionLoss {
  NarrowFormat format;
  bool operands = false;   // all that are floats
  bool constants = false;  // those that are weights, or other constants
  bool results = false;
};

// What the member makes with that loss, unrounded otherwise. Throws what the reference throws.
Tensors results_with(const Member& member, const PrecisionLoss& loss);

// Calls test(tensor, is_constant) for what is held in the format, until it is true.
template <class Test>
bool any_held(const Member& member, const PrecisionLoss& loss, const Test& test) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    const bool held = loss.operands || (loss.constants && member.is_constant(i));
    if (held && member.has(i) && test(member.in(i), member.is_constant(i))) return true;
  }
  if (!loss.results) return false;
  return std::any_of(member.outputs().begin(), member.outputs().end(),
                     [&](const Tensor& made) { return test(made, false); });
}

}  // namespace vernier
