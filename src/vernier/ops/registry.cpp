#include "vernier/ops/op_def.h"
#include "vernier/ops/register_all.h"

namespace vernier::ops {

int OpDef::max_inputs() const {
  return repeats > 0 ? kVariadic : static_cast<int>(operands.size());
}

Role OpDef::role(size_t input) const {
  if (input < operands.size()) return operands[input];
  if (repeats == 0) return Role::kData;
  const auto period = static_cast<size_t>(repeats), first = operands.size() - period;
  return operands[first + (input - first) % period];
}

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
  throw unsupported("operator {} of domain '{}' (opset {}) is not known", node.op,
                    node.domain.empty() ? "ai.onnx" : node.domain, node.version)
      .at_node(node.name)
      .advise("replace it, or give the model a local function of that name");
}

}  // namespace vernier::ops
