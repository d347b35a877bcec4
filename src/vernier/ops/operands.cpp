#include "vernier/ops/operands.h"

#include <algorithm>

#include "vernier/ops/attribute_defaults.h"

namespace vernier::ops {

Role role_of(const Node& node, size_t input) {
  const OpDef* def = OpRegistry::instance().find(node);
  return def == nullptr ? Role::kData : def->role(input);
}

bool has_role(const Node& node, size_t input, std::initializer_list<Role> roles) {
  return std::find(roles.begin(), roles.end(), role_of(node, input)) != roles.end();
}

std::optional<size_t> input_of(const Node& node, Role role) {
  const OpDef* def = OpRegistry::instance().find(node);
  if (def == nullptr) return std::nullopt;
  const auto found = std::find(def->operands.begin(), def->operands.end(), role);
  if (found == def->operands.end()) return std::nullopt;
  return static_cast<size_t>(found - def->operands.begin());
}

Value* operand(const Node& node, Role role) {
  const auto input = input_of(node, role);
  return input ? node.input(*input) : nullptr;
}

std::optional<int64_t> output_channel_axis(const Node& node, int64_t rank) {
  const OpDef* def = OpRegistry::instance().find(node);
  if (def == nullptr || !def->output_channels) return std::nullopt;
  const int64_t axis = integer_attribute(node, "transB") != 0 ? 0 : *def->output_channels;
  return axis < 0 ? axis + rank : axis;
}

}  // namespace vernier::ops
