#include "vernier/bench/merged_decoder.h"

#include <algorithm>

namespace vernier {

namespace {

std::optional<size_t> place_of(const std::vector<Value*>& values, const Value* value) {
  const auto found = std::find(values.begin(), values.end(), value);
  return value == nullptr || found == values.end()
             ? std::nullopt
             : std::optional(static_cast<size_t>(found - values.begin()));
}

bool is_flag(const Value& value) {
  if (!value.type.is_tensor() || value.type.tensor.element != ElementType::kBool || !value.type.tensor.shape)
    return false;
  const auto dims = to_dims(*value.type.tensor.shape);
  return dims && element_count(*dims) == 1;
}

bool puts_rows_behind(const Graph& graph, const Value& present) {
  if (present.producer() == nullptr) return false;
  const auto& inputs = present.producer()->inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](const Value* read) {
    return place_of(graph.inputs, read) && continues(present, *read);
  });
}

// Gives the input that the branch hands on as it came, also through Identity.
const Value* given_on(const Value* value) {
  while (value->producer() != nullptr && value->producer()->op == "Identity")
    value = value->producer()->input(0);
  return value;
}

// "past_key_values.0.encoder.key" and "present.0.encoder.key" are one cache.
std::string behind_first_dot(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? "" : name.substr(dot);
}

std::optional<MergedDecoder> merged_by(const Graph& graph, const Node& choice, size_t flag) {
  for (const bool with_past : {true, false}) {
    const Graph* branch = choice.region(with_past ? "then_branch" : "else_branch");
    if (branch == nullptr || branch->outputs.size() != choice.outputs.size()) return std::nullopt;
    MergedDecoder found{flag, with_past, {graph.outputs.begin(), graph.outputs.end()}, {}};
    bool grows = false;
    for (size_t i = 0; i < choice.outputs.size(); ++i) {
      const auto output = place_of(graph.outputs, choice.outputs[i]);
      if (!output) continue;
      const Value* present = branch->outputs[i];
      found.presents[*output] = present;
      if (puts_rows_behind(graph, *present)) {
        grows = true;
        continue;
      }
      auto input = place_of(graph.inputs, given_on(present));
      const std::string name = behind_first_dot(graph.outputs[*output]->name);
      for (size_t k = 0; k < graph.inputs.size() && !input && !name.empty(); ++k) {
        if (behind_first_dot(graph.inputs[k]->name) == name) input = k;
      }
      if (input && shape_with_rows(*graph.inputs[*input]) != nullptr)
        found.handed.push_back({*input, *output});
    }
    if (grows) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MergedDecoder> find_merged_decoder(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->op != "If" || !node->domain.empty()) continue;
    const auto flag = place_of(graph.inputs, given_on(node->input(0)));
    if (!flag || !is_flag(*graph.inputs[*flag])) continue;
    if (auto found = merged_by(graph, *node, *flag)) return found;
  }
  return std::nullopt;
}

}  // namespace vernier
