#include "vernier/diagnose/repeats/first_difference.h"

#include <algorithm>

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

std::vector<std::string> late_inputs(const std::vector<ShownRun>& runs, const NamedData& inputs) {
  std::set<const Value*> changing;
  size_t first_ones = 0;
  std::map<std::string, bool> all_readers_differ;
  for (const auto& node : runs[0].graph->nodes()) {
    bool differs = false, is_shown = false, inherits = false;
    for (const Value* output : node->outputs) {
      const auto made = output == nullptr ? runs[0].values.end() : runs[0].values.find(output->name);
      if (made == runs[0].values.end() || !made->second.is_tensor()) continue;
      is_shown = true;
      const bool other = std::any_of(runs.begin() + 1, runs.end(), [&](const ShownRun& run) {
        const auto again = run.values.find(output->name);
        return again != run.values.end() && again->second.is_tensor() &&
               !again->second.tensor.identical(made->second.tensor);
      });
      if (other) changing.insert(output);
      differs = differs || other;
    }
    bool reads_input = false;
    for (const Value* input : node->inputs) {
      if (input == nullptr) continue;
      inherits = inherits || changing.contains(input);
      if (!inputs.contains(input->name)) continue;
      reads_input = true;
      if (!is_shown) continue;
      auto [known, first] = all_readers_differ.try_emplace(input->name, true);
      known->second = known->second && (differs || inherits);
    }
    if (differs && !inherits && !reads_input) return {};
    first_ones += differs && !inherits ? 1 : 0;
  }
  std::vector<std::string> late;
  for (const auto& [input, all] : all_readers_differ) {
    if (all) late.push_back(input);
  }
  // One node alone may be at fault itself.
  return first_ones < 2 ? std::vector<std::string>() : late;
}

}  // namespace vernier
