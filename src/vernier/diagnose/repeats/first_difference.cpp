#include "vernier/diagnose/repeats/first_difference.h"

namespace vernier {

namespace {

const Tensor* shown(const ShownRun& run, const std::string& name) {
  const auto found = run.values.find(name);
  return found == run.values.end() || !found->second.is_tensor() ? nullptr : &found->second.tensor;
}

}  // namespace

// Nodes are in topological order: all that the first of them reads is alike, as far as it is shown.
std::optional<FirstDifference> first_difference(const ShownRun& first, const ShownRun& second,
                                                const Differ& differ) {
  for (const auto& node : first.graph->nodes()) {
    for (const Value* output : node->outputs) {
      if (output == nullptr) continue;
      const Tensor *a = shown(first, output->name), *b = shown(second, output->name);
      if (a != nullptr && b != nullptr && differ(*a, *b))
        return FirstDifference{node.get(), output->name, *a, *b};
    }
  }
  return std::nullopt;
}

std::optional<FirstDifference> first_difference(const ShownRun& first, const ShownRun& second) {
  return first_difference(first, second, [](const Tensor& a, const Tensor& b) { return !a.identical(b); });
}

}  // namespace vernier
