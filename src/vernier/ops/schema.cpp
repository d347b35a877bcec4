#include "vernier/ops/schema.h"

#include <algorithm>

#include "vernier/ops/tf32.h"

namespace vernier::ops {

namespace {

void check_count(const Node& node, const char* what, size_t have, int least, int most) {
  const int count = static_cast<int>(have);
  if (count >= least && (most == kVariadic || count <= most)) return;
  const std::string range = most == kVariadic ? fmt::format("{} or more", least)
                            : least == most   ? fmt::format("{}", least)
                                              : fmt::format("{} to {}", least, most);
  throw bad_input("{} has {} {}, but takes {}", node.op, have, what, range).at_node(node.name);
}

}  // namespace

void check_schema(const OpDef& def, const Node& node) {
  check_count(node, "inputs", node.inputs.size(), def.min_inputs(), def.max_inputs());
  check_count(node, "outputs", node.outputs.size(), def.min_outputs, def.max_outputs);
  for (const auto& entry : node.attributes) {
    if (entry.first == kTf32Attribute) continue;  // a plan's, which no schema has
    const auto spec = std::find_if(def.attributes.begin(), def.attributes.end(),
                                   [&](const AttributeSpec& each) { return each.name == entry.first; });
    if (spec == def.attributes.end()) {
      throw bad_input("{} has no attribute '{}'", node.op, entry.first)
          .at_node(node.name)
          .advise("remove it, or correct its name");
    }
    if (spec->type != entry.second.type_name()) {
      throw bad_input("attribute '{}' of {} has the type {}, not {}", entry.first, node.op,
                      entry.second.type_name(), spec->type)
          .at_node(node.name);
    }
  }
}

}  // namespace vernier::ops
