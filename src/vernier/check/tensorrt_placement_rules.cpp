// Where QuantizeLinear and DequantizeLinear stand: in pairs, and before both operands of a contraction.
#include "vernier/check/tensorrt_rules.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

// Whether codes pass the node unchanged.
bool moves(const Node& node) {
  const auto* def = ops::OpRegistry::instance().find(node);
  return node.domain.empty() && def != nullptr && (def->traits & (ops::kView | ops::kDataMovement)) != 0;
}

// Finds the maker of the codes, behind nodes that only move them; null for inputs and constants.
const Node* maker_of_codes(const Value* codes) {
  const Node* maker = codes == nullptr ? nullptr : codes->producer();
  while (maker != nullptr && moves(*maker) && maker->input(0) != nullptr) maker = maker->input(0)->producer();
  return maker;
}

void pairs(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (reads_codes(*node) && context.constant(node->input(0)) == nullptr) {
      const Node* maker = maker_of_codes(node->input(0));
      if (maker != nullptr && !makes_codes(*maker) && maker->op != "Constant")
        collector.add(broken("TRT6-unpaired", *node,
                             fmt::format("the codes are made by {} '{}'", maker->op, maker->name),
                             "let each DequantizeLinear read a QuantizeLinear, constants or an input"));
    }
    if (!makes_codes(*node) || node->output(0) == nullptr) continue;
    for (const Node* user : context.users(node->output(0))) {
      if (reads_codes(*user) || moves(*user) || user->op == "MaxPool") continue;
      collector.add(broken("TRT6-unpaired", *node, fmt::format("{} '{}' reads codes", user->op, user->name),
                           "put a DequantizeLinear before it; TensorRT fuses the two"));
    }
  }
}

// Float weights against quantized activations, or the reverse, leave TensorRT with a float operator and the
// conversions beside it.
void both_operands(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    if (!ops::has_trait(*node, ops::kProducts)) continue;
    const auto quantized = [&](size_t input) {
      const Node* maker = context.made_by(node->input(input), "DequantizeLinear");
      return maker != nullptr && context.type(maker->input(0)) == ElementType::kInt8;
    };
    if (quantized(0) == quantized(1)) continue;
    collector.add({.rule = "TRT7-one-operand",
                   .severity = Severity::kWarning,
                   .effect = 0.3,
                   .node = node->name,
                   .message = fmt::format("{} is quantized and {} is not: {} runs in float",
                                          quantized(0) ? "the activation" : "the weight",
                                          quantized(0) ? "the weight" : "the activation", node->op),
                   .remedy = "quantize both operands, or neither"});
  }
}

}  // namespace

void tensorrt_placement_rules(std::vector<Rule>& rules) {
  rules.push_back({"TRT6-unpaired", "QuantizeLinear and DequantizeLinear that are no pair", pairs});
  rules.push_back({"TRT7-one-operand", "contractions of which one operand is quantized", both_operands});
}

}  // namespace vernier
