#include "vernier/diagnose/experiments/suspect.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/group.h"

namespace vernier {

namespace {

bool is_comparable(const Tensor& tensor) {
  return tensor.is_defined() && tensor.type() != ElementType::kString && !is_complex(tensor.type());
}

}  // namespace

void compare_output(Suspect& suspect, size_t output) {
  const Tensor& made = suspect.made[output];
  const ElementErrors& expected = suspect.expected[output];
  if (!is_comparable(made) || !is_comparable(expected.value)) return;
  if (made.dims() != expected.value.dims()) {
    suspect.worst.worst = HUGE_VAL;
    suspect.output = output;
    return;
  }
  const Deviation found = deviation(expected, made);
  if (found.worst <= suspect.worst.worst) return;
  suspect.worst = found;
  suspect.output = output;
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

std::vector<std::string> Suspect::onnx_nodes() const {
  return onnx_nodes_of(*node);
}

}  // namespace vernier
