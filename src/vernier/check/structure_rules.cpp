// The graph as such: nodes and inputs without use, nondeterminism left in (B48).
#include "vernier/check/context.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

void unused(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Value* input : context.model().graph->inputs) {
    if (input->is_constant() || !context.users(input).empty() || context.is_model_output(input)) continue;
    findings.push_back({.rule = "S2-unused-input",
                        .severity = Severity::kNote,
                        .effect = 0.01,
                        .node = "",
                        .message = fmt::format("input '{}' is read by no node", input->name),
                        .remedy = "remove the input"});
  }
  for (const Node* node : context.nodes()) {
    bool used = false;
    for (const Value* output : node->outputs)
      used =
          used || (output != nullptr && (!context.users(output).empty() || context.is_model_output(output)));
    if (used) continue;
    collector.add({.rule = "S3-dead-node",
                   .severity = Severity::kNote,
                   .effect = 0.01,
                   .node = node->name,
                   .message = "no output of the node is read",
                   .remedy = "remove the node"});
  }
}

// B48: results that differ from run to run, or training behaviour left in.
void randomness(const CheckContext& context, std::vector<Finding>& findings) {
  Collector collector(findings);
  for (const Node* node : context.nodes()) {
    const auto* def = ops::OpRegistry::instance().find(*node);
    const bool random =
        def != nullptr && (def->traits & ops::kNondeterministic) != 0 && node->op != "Dropout";
    if (random && node->find_attribute("seed") == nullptr) {
      collector.add(
          {.rule = "B48-random",
           .severity = Severity::kWarning,
           .effect = 0.8,
           .node = node->name,
           .message = fmt::format("{} without a seed gives other numbers in every run and engine", node->op),
           .remedy = "make the random tensor an input of the model"});
    }
    const bool trains =
        (node->op == "Dropout" && context.scalar(node->input(2)).value_or(0) != 0) ||
        (node->op == "BatchNormalization" && ops::integer_attribute(*node, "training_mode") != 0);
    if (!trains) continue;
    collector.add({.rule = "B48-training-mode",
                   .severity = Severity::kWarning,
                   .effect = 0.8,
                   .node = node->name,
                   .message = fmt::format("{} is in training mode", node->op),
                   .remedy = "export the model in evaluation mode"});
  }
}

}  // namespace

void structure_rules(std::vector<Rule>& rules) {
  rules.push_back({"S2-unused", "inputs and nodes without use", unused});
  rules.push_back({"B48-random", "randomness and training mode", randomness});
}

}  // namespace vernier
