#include "vernier/data/random/graph_uses.h"

#include <algorithm>

#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

struct CopyRule {
  std::string_view op;
  uint32_t inputs;  // bit i: elements of input i reach the outputs
};

constexpr uint32_t kFirst = 1, kAll = ~0u;
constexpr CopyRule kCopyRules[] = {{"Identity", kFirst},
                                   {"Cast", kFirst},
                                   {"CastLike", kFirst},
                                   {"Reshape", kFirst},
                                   {"Flatten", kFirst},
                                   {"Squeeze", kFirst},
                                   {"Unsqueeze", kFirst},
                                   {"Transpose", kFirst},
                                   {"Expand", kFirst},
                                   {"Tile", kFirst},
                                   {"Concat", kAll},
                                   {"Slice", kFirst},
                                   {"Split", kFirst},
                                   {"Gather", kFirst},
                                   {"GatherND", kFirst},
                                   {"GatherElements", kFirst},
                                   {"Pad", kFirst},
                                   {"Dropout", kFirst},
                                   {"Compress", kFirst},
                                   {"Where", 0b110},
                                   {"ScatterND", 0b101},
                                   {"ScatterElements", 0b101},
                                   {"Scatter", 0b101},
                                   {"ReverseSequence", kFirst},
                                   {"DepthToSpace", kFirst},
                                   {"SpaceToDepth", kFirst},
                                   {"TopK", kFirst},
                                   {"ReduceMax", kFirst},
                                   {"ReduceMin", kFirst},
                                   {"And", kAll},
                                   {"Or", kAll},
                                   {"Trilu", kFirst}};

}  // namespace

GraphUses::GraphUses(const Graph& graph) {
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (node->inputs[i] != nullptr) uses_[node->inputs[i]].push_back({node.get(), i});
      }
      if (!node->regions.empty()) add_control_flow(*node);
    }
  });
}

const std::vector<Use>& GraphUses::of(const Value* value) const {
  static const std::vector<Use> none;
  const auto found = uses_.find(value);
  return found == uses_.end() ? none : found->second;
}

const std::vector<const Value*>& GraphUses::handed_on(const Value* value) const {
  static const std::vector<const Value*> none;
  const auto found = handed_on_.find(value);
  return found == handed_on_.end() ? none : found->second;
}

void GraphUses::hand_on(const Value* from, const Value* to) {
  if (from != nullptr && to != nullptr) handed_on_[from].push_back(to);
}

void GraphUses::add_control_flow(const Node& node) {
  const bool loop = node.op == "Loop";
  // The places by which the lists of node and body are shifted: Loop's body yields a condition first, and
  // Scan had sequence lengths first in opset 8.
  const size_t first_output = loop ? 1 : 0;
  const size_t first_input = node.op == "Scan" && node.version < 9 ? 1 : 0;
  for (const auto& [name, region] : node.regions) {
    for (size_t i = first_output; i < region->outputs.size(); ++i) {
      hand_on(region->outputs[i], node.output(i - first_output));
      // Carried values come back in; what is collected instead has no input at its place.
      const size_t carried = i + first_output;
      if (loop && carried < region->inputs.size()) hand_on(region->outputs[i], region->inputs[carried]);
    }
    for (size_t i = 0; i < region->inputs.size(); ++i) {
      if (!loop || i > 0) hand_on(node.input(i + first_input), region->inputs[i]);
    }
  }
}

std::vector<double> constant_elements(const Value* value) {
  constexpr int kFarEnough = 16;
  constexpr int64_t kMost = 1 << 16;
  const auto elements = [](const Tensor& tensor) -> std::vector<double> {
    if (tensor.size() > kMost || tensor.type() == ElementType::kString || is_complex(tensor.type()))
      return {};
    return tensor.to_doubles();
  };
  for (int step = 0; value != nullptr && step < kFarEnough; ++step) {
    if (value->is_constant()) return elements(*value->constant);
    const Node* node = value->producer();
    if (node == nullptr) return {};
    if (node->find_attribute("value_float") != nullptr) return {node->attribute<float>("value_float", {})};
    if (node->find_attribute("value_int") != nullptr)
      return {static_cast<double>(node->attribute<int64_t>("value_int", {}))};
    if (node->find_attribute("value_ints") != nullptr) {
      const auto integers = node->attribute<std::vector<int64_t>>("value_ints", {});
      return {integers.begin(), integers.end()};
    }
    if (node->op == "ConstantOfShape") return elements(ops::constant_of_shape_value(*node));
    if (node->op == "Constant") {
      const Tensor content = node->attribute<Tensor>("value", {});
      return content.is_defined() ? elements(content) : std::vector<double>{};
    }
    constexpr std::string_view kViews[] = {"Identity", "Cast",    "CastLike", "Unsqueeze",
                                           "Squeeze",  "Reshape", "Expand"};
    if (std::find(std::begin(kViews), std::end(kViews), node->op) == std::end(kViews)) return {};
    value = node->input(0);
  }
  return {};
}

std::optional<double> constant_number(const Value* value) {
  const auto elements = constant_elements(value);
  return elements.size() == 1 ? std::optional(elements[0]) : std::nullopt;
}

bool copies_elements(const Node& node, size_t input) {
  if (!node.domain.empty()) return false;
  for (const CopyRule& rule : kCopyRules) {
    if (rule.op == node.op) return rule.inputs == kAll || (input < 32 && (rule.inputs >> input & 1) != 0);
  }
  return false;
}

}  // namespace vernier
