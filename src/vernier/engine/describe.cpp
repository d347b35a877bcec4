#include "vernier/engine/describe.h"

#include "vernier/exec/bind_inputs.h"

namespace vernier {

std::vector<StepDescription> describe_steps(const Plan& plan) {
  std::vector<StepDescription> steps;
  for (const Step& step : plan.steps) {
    StepDescription description;
    description.kernel = step.copies ? "copy" : step.kernel ? step.kernel->name : "";
    description.reason = step.reason;
    if (step.node != nullptr)
      description.nodes.assign(step.node->provenance.begin(), step.node->provenance.end());
    if (step.kernel && step.node != nullptr) description.contract = step.kernel->contract.text();
    if (!step.is_settled()) description.contract = "the reference, in double";
    steps.push_back(std::move(description));
  }
  return steps;
}

std::string sizes_text(const Graph& graph, const std::vector<ValueType>& inputs) {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", graph.inputs[i]->name, inputs[i].text());
  return text.empty() ? "a model without inputs" : text;
}

std::vector<ValueType> input_types(const Graph& graph, const NamedData& inputs) {
  return types_of(graph, bind_inputs(graph, inputs));
}

size_t constant_bytes(const Graph& graph) {
  size_t bytes = 0;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& value : inner.values()) bytes += value->is_constant() ? value->constant->byte_size() : 0;
  });
  return bytes;
}

}  // namespace vernier
