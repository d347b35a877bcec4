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

// Gives what the member makes with that loss, unrounded otherwise. Throws what the reference throws.
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

// Which operands of a node an engine may treat otherwise than the graph says, one alone or several together.

// Bit i stands for operand i. All operands that are real floats.
uint32_t all_real_operands(const Member& member);
// Sets of these: every one where there are few and `is_seen` says that a look at some elements can tell them
// apart; else each alone, all constants, and all.
std::vector<uint32_t> operand_sets(const Member& member, bool is_seen);
// "its weights are", "its activations and its bias are"
std::string text_of(const Member& member, uint32_t set);
// "its weights"
std::string operand_name(const Member& member, size_t operand);

}  // namespace vernier
