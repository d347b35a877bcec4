// com.microsoft FusedConv -> Conv, Add and the activation, which the backend fuses again, its own way.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

constexpr int64_t kConvOpset = 11, kAddOpset = 14, kActivationOpset = 6;  // Clip with attributes

// The names that the activation's operator has for activation_params; nothing for an unknown activation.
std::optional<std::vector<std::string>> parameters_of(const std::string& activation) {
  static const std::map<std::string, std::vector<std::string>> known = {{"", {}},
                                                                        {"Relu", {}},
                                                                        {"Sigmoid", {}},
                                                                        {"Tanh", {}},
                                                                        {"LeakyRelu", {"alpha"}},
                                                                        {"HardSigmoid", {"alpha", "beta"}},
                                                                        {"Clip", {"min", "max"}}};
  const auto found = known.find(activation);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

bool expand(Graph& graph, Node* node) {
  const auto activation = ops::text_attribute(*node, "activation");
  const auto values = node->attribute<std::vector<float>>("activation_params", {});
  const auto names = parameters_of(activation);
  if (!names || values.size() > names->size()) return false;
  Value* result = node->output(0);
  std::vector<std::unique_ptr<Node>> made;
  const auto temporary = [&](const char* what) {
    return graph.add_value(free_name(graph, result->name + "/" + what), result->type);
  };
  Value* residual = node->input(3);
  const bool sums = residual != nullptr, activates = !activation.empty();
  Value* convolved = sums || activates ? temporary("convolved") : result;
  Value* summed = !sums ? convolved : activates ? temporary("summed") : result;
  std::vector<Value*> inputs = {node->input(0), node->input(1)};
  if (node->input(2) != nullptr) inputs.push_back(node->input(2));
  made.push_back(make_node("Conv", kConvOpset, std::move(inputs), convolved));
  made.back()->attributes = node->attributes;
  made.back()->attributes.erase("activation");
  made.back()->attributes.erase("activation_params");
  if (sums) made.push_back(make_node("Add", kAddOpset, {convolved, residual}, summed));
  if (activates) {
    made.push_back(make_node(activation, kActivationOpset, {summed}, result));
    for (size_t i = 0; i < values.size(); ++i)
      made.back()->attributes.insert_or_assign((*names)[i], Attribute(values[i]));
  }
  Rewriter(graph).replace({node}, std::move(made));
  return true;
}

int expand_in(Graph& graph) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes()) {
    if (node->op == "FusedConv" && node->domain == "com.microsoft") found.push_back(node.get());
  }
  return static_cast<int>(
      std::count_if(found.begin(), found.end(), [&](Node* node) { return expand(graph, node); }));
}

}  // namespace

Pass expand_fused_conv() {
  return {"expand-fused-conv", NumericalClass::kReassociating, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += expand_in(inner); });
            return found;
          }};
}

}  // namespace vernier
