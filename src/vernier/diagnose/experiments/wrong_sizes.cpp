#include "vernier/diagnose/experiments/wrong_sizes.h"

#include <algorithm>

#include "vernier/diagnose/under_test/partial_models.h"

namespace vernier {

namespace {

Model without_sizes(Model model) {
  for (Value* output : model.graph->outputs) {
    output->declared.reset();
    if (output->type.is_tensor()) output->type.tensor.shape.reset();
  }
  return model;
}

// The values that the reference makes, those of the graph's inputs included.
NamedData values_of(const Model& model, const NamedData& inputs) {
  NamedData values = inputs;
  InterpreterOptions options;
  options.observe = [&](const Value& value, const Datum& datum) { values[value.name] = datum; };
  run_reference(model, inputs, options);
  return values;
}

const Tensor* tensor_of(const NamedData& values, const Value& value) {
  if (value.is_constant()) return &*value.constant;
  const auto found = values.find(value.name);
  return found == values.end() || !found->second.is_tensor() ? nullptr : &found->second.tensor;
}

// Nothing if something of it is not known.
std::optional<FlaggedNode> flagged_of(const Node& node, const NamedData& values, const NamedData& made) {
  FlaggedNode flagged;
  flagged.node = &node;
  for (const Value* input : node.inputs) {
    const Tensor* tensor = input == nullptr ? nullptr : tensor_of(values, *input);
    if (input != nullptr && tensor == nullptr) return std::nullopt;
    flagged.inputs.push_back(input == nullptr ? Tensor() : *tensor);
  }
  for (const Value* output : node.outputs) {
    const Tensor* right = output == nullptr ? nullptr : tensor_of(values, *output);
    const Tensor* other = output == nullptr ? nullptr : tensor_of(made, *output);
    if (output != nullptr && right == nullptr) return std::nullopt;
    flagged.expected.push_back({right == nullptr ? Tensor() : *right, {}});
    flagged.made.push_back(other == nullptr ? Tensor() : *other);
  }
  const bool any = std::any_of(flagged.made.begin(), flagged.made.end(),
                               [](const Tensor& tensor) { return tensor.is_defined(); });
  return any ? std::optional(std::move(flagged)) : std::nullopt;
}

}  // namespace

Reproduction cause_of_sizes(EngineUnderTest& tested, const Model& model, size_t node, const NamedData& inputs,
                            Stopwatch& watch) {
  try {
    const Model copy = without_sizes(first_nodes(model, node + 1));
    const auto made = watch.time("without sizes", 1, [&] { return tested.run_other(copy, inputs); });
    if (!made) return {};
    const NamedData values = values_of(model, inputs);
    const auto flagged = flagged_of(*model.graph->nodes()[node], values, *made);
    if (!flagged) return {};
    const HypothesisContext context{*model.graph,
                                    [&](const Value& value) { return tensor_of(values, value); }, nullptr};
    return watch.time("reproduction", 1, [&] { return reproduce(*flagged, context, &watch); });
  } catch (const Error&) {
    return {};
  }
}

}  // namespace vernier
