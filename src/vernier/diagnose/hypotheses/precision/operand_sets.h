// Which operands of a node an engine may treat otherwise than the graph says, one alone or several together.
#pragma once

#include "vernier/diagnose/causes/member.h"

namespace vernier {

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
