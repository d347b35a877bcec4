// An engine that holds numbers of a node in a narrow format, and what the node makes then.
#pragma once

#include "vernier/diagnose/causes/member.h"
#include "vernier/diagnose/hypotheses/precision/narrow_format.h"

namespace vernier {

struct PrecisionLoss {
  static constexpr uint32_t kAllOperands = ~0u;

  NarrowFormat format;
  uint32_t operands = 0;  // which are held in it, as far as they are floats: bit i for operand i
  bool results = false;

  bool holds(size_t operand) const { return operand < 32 && (operands >> operand & 1) != 0; }
};

// What the member makes with that loss, unrounded otherwise. Throws what the reference throws.
Tensors results_with(const Member& member, const PrecisionLoss& loss);

// Calls test(tensor, is_constant) for what is held in the format, until it is true.
template <class Test>
bool any_held(const Member& member, const PrecisionLoss& loss, const Test& test) {
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (loss.holds(i) && member.has(i) && test(member.in(i), member.is_constant(i))) return true;
  }
  if (!loss.results) return false;
  return std::any_of(member.outputs().begin(), member.outputs().end(),
                     [&](const Tensor& made) { return test(made, false); });
}

}  // namespace vernier
