#include "vernier/diagnose/experiments/flagged_node.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/group.h"

namespace vernier {

namespace {

bool is_comparable(const Tensor& tensor) {
  return tensor.is_defined() && tensor.type() != ElementType::kString && !is_complex(tensor.type());
}

}  // namespace

void compare_output(FlaggedNode& flagged, size_t output) {
  const Tensor& made = flagged.made[output];
  const ElementErrors& expected = flagged.expected[output];
  if (!is_comparable(made) || !is_comparable(expected.value)) return;
  if (made.dims() != expected.value.dims()) {
    flagged.worst.worst = HUGE_VAL;
    flagged.output = output;
    return;
  }
  const Deviation found = deviation(expected, made);
  if (found.worst <= flagged.worst.worst) return;
  flagged.worst = found;
  flagged.output = output;
}

std::vector<std::string> onnx_nodes_of(const Node& node) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  if (ops::is_group(node)) {
    for (const auto& member : ops::body(node).nodes()) {
      for (const std::string& name : onnx_nodes_of(*member)) add(name);
    }
  }
  for (const std::string& name : node.provenance) add(name);
  if (names.empty()) names.push_back(node.name);
  return names;
}

std::vector<std::string> FlaggedNode::onnx_nodes() const {
  return onnx_nodes_of(*node);
}

}  // namespace vernier
