#include "vernier/ops/op_def.h"
#include "vernier/ops/register_all.h"

namespace vernier::ops {

const OpRegistry& OpRegistry::instance() {
  static const OpRegistry registry = [] {
    OpRegistry made;
    register_all(made);
    return made;
  }();
  return registry;
}

void OpRegistry::add(OpDef def) {
  const auto [slot, inserted] = index_.try_emplace({def.domain, def.op}, defs_.size());
  if (!inserted) throw internal_error("operator {}::{} is registered twice", def.domain, def.op);
  defs_.push_back(std::move(def));
}

const OpDef* OpRegistry::find(std::string_view domain, std::string_view op) const {
  if (domain == "ai.onnx") domain = "";
  const auto found = index_.find(std::pair<std::string, std::string>(domain, op));
  return found == index_.end() ? nullptr : &defs_[found->second];
}

const OpDef& OpRegistry::require(const Node& node) const {
  if (const OpDef* def = find(node)) return *def;
  throw unsupported("operator {} of domain '{}' (opset {}) is not known", node.op, node.domain.empty() ? "ai.onnx" : node.domain,
                    node.version)
      .at_node(node.name)
      .advise("replace it, or give the model a local function of that name");
}

void check_schema(const OpDef& def, const Node& node) {
  const auto check = [&](const char* what, size_t have, int least, int most) {
    const int count = static_cast<int>(have);
    if (count >= least && (most == kVariadic || count <= most)) return;
    const std::string range = most == kVariadic ? fmt::format("{} or more", least) : least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    throw bad_input("{} has {} {}, but takes {}", node.op, have, what, range).at_node(node.name);
  };
  check("inputs", node.inputs.size(), def.min_inputs, def.max_inputs);
  check("outputs", node.outputs.size(), def.min_outputs, def.max_outputs);
  for (const auto& [name, attribute] : node.attributes) {
    const bool known = std::any_of(def.attributes.begin(), def.attributes.end(), [&, &wanted = name](const AttributeSpec& spec) { return spec.name == wanted; });
    if (!known) throw bad_input("{} has no attribute '{}'", node.op, name).at_node(node.name).advise("remove it, or correct its name");
  }
}

}  // namespace vernier::ops
