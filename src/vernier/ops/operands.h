// The operands of a node by what they are to its operator (OpDef::operands).
#pragma once

#include "vernier/ops/op_def.h"

namespace vernier::ops {

// The role of an input; kData if the operator is not known.
Role role_of(const Node& node, size_t input);
// Whether the input has one of the roles.
bool has_role(const Node& node, size_t input, std::initializer_list<Role> roles);
// The first input that has the role, whether or not the node gives it; nothing if its operator has none.
std::optional<size_t> input_of(const Node& node, Role role);
// The first input that has the role; null if the node has none.
Value* operand(const Node& node, Role role);
// The axis of the weight that counts output channels, where the weight has `rank` axes; of transposed
// convolutions it counts those of a group. Nothing for operators that have no such axis.
std::optional<int64_t> output_channel_axis(const Node& node, int64_t rank);

}  // namespace vernier::ops
