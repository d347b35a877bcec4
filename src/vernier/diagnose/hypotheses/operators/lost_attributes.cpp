// B31, and the classes of pools, resampling and normalisations: an attribute is not read, so that the
// operator's default holds.
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

// Tells whether another family reads it better, or it makes no number.
bool is_left_to_others(const Member& member, const std::string& attribute) {
  for (const char* name : {"auto_pad", "pads", "strides", "dilations", "kernel_shape", "to", "stash_type"}) {
    if (attribute == name) return true;
  }
  return member.is("Constant") || member.is("ConstantOfShape");
}

// The class of what goes wrong with such operators in other ways.
int class_of(const Member& member) {
  const Node& node = member.node();
  if (!node.domain.empty()) return 31;
  if (ops::has_trait(node, ops::kInterpolates)) return 34;
  if (node.op.ends_with("Pool")) return 33;
  return node.op.ends_with("Normalization") || node.op == "LRN" ? 35 : 31;
}

}  // namespace

void propose_lost_attributes(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                             std::vector<Proposal>& proposals) {
  if (!member.node().regions.empty()) return;
  const Variations variations(member, flagged, class_of(member), proposals);
  for (const auto& [name, value] : member.node().attributes) {
    if (is_left_to_others(member, name)) continue;
    variations.add_node(fmt::format("its attribute '{}' is not read", name),
                        [name = name](Node& node) { node.attributes.erase(name); });
  }
  if (member.is("Gelu")) {
    const bool exact = ops::text_attribute(member.node(), "approximate") == "none";
    variations.add_node(
        exact ? "it computes the approximation by tanh" : "it computes the exact function",
        [exact](Node& node) { node.attributes["approximate"] = std::string(exact ? "tanh" : "none"); });
  }
}

}  // namespace vernier
