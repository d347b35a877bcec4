#include "vernier/precision/ranged_values.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/passes/build.h"
#include "vernier/precision/calibration_file.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/plan.h"

namespace vernier {

std::vector<size_t> ranged_inputs(const Node& node) {
  if (!multiplies_codes(node)) return {};
  std::vector<size_t> result;
  for (size_t i = 0; i < 2; ++i) {
    const Value* input = node.input(i);
    if (input == nullptr || element_of(input) != ElementType::kFloat) return {};
    const bool is_weights = i == 1 && (input->is_constant() || known_content(input));
    if (!is_weights) result.push_back(i);
  }
  return result;
}

std::vector<const Value*> ranged_values(const Graph& graph) {
  std::vector<const Value*> values;
  for (const auto& node : graph.nodes()) {
    if (reads_dequantized(*node)) continue;
    for (const size_t i : ranged_inputs(*node)) {
      const Value* input = node->input(i);
      if (std::find(values.begin(), values.end(), input) == values.end()) values.push_back(input);
    }
  }
  return values;
}

namespace {

void require_model(const Ranges& ranges, const Graph& model) {
  const std::string hash = hash_to_text(structural_hash(model));
  if (!ranges.model.empty() && ranges.model != hash)
    throw bad_input("the ranges are of model {}, and this is {}", ranges.model, hash)
        .advise("calibrate this model, or set \"model\" to \"\" if its values have the same ranges");
}

// Gives notes on names that are no values of the model, where such names are to be expected.
void require_known_names(const Ranges& ranges, const Graph& graph, const Graph& model,
                         std::vector<std::string>& notes) {
  std::set<std::string_view> known;
  for (const Graph* all : {&graph, &model})
    for_each_graph(*all, [&](const Graph& inner) {
      for (const auto& value : inner.values()) known.insert(value->name);
    });
  std::vector<std::string> unknown;
  for (const auto& [name, scale] : ranges.scales) {
    if (!known.contains(name)) unknown.push_back(name);
  }
  if (unknown.empty()) return;
  constexpr size_t kShown = 5;
  const size_t count = unknown.size();
  unknown.resize(std::min(count, kShown));
  const std::string names = fmt::format("'{}'{}", fmt::join(unknown, "', '"), count > kShown ? ", …" : "");
  if (count == ranges.scales.size())
    throw bad_input("none of its {} names is a value of the model: {}", count, names)
        .advise("give ranges that were made for this model");
  if (!ranges.names_others)
    throw bad_input("the model has no value {}", names).advise("calibrate it again, or remove what it lacks");
  notes.push_back(fmt::format("{} of the {} names that have ranges are no values of the model: {}", count,
                              ranges.scales.size(), names));
}

void require_known_nodes(const Ranges& ranges, const Graph& model) {
  const auto known = onnx_nodes(model);
  for (const auto& [node, block] : ranges.weight_blocks) {
    if (!known.contains(node))
      throw bad_input("the model has no node '{}', whose weights are to be quantized", node)
          .advise("calibrate it again, or remove what it lacks");
  }
}

void require_integers(const Scales& scales) {
  for (const auto& [name, scale] : scales) {
    if (!is_integer(scale.type))
      throw bad_input("tensor '{}' has a scale of {}, and int8 takes those of i8 and u8", name,
                      element_type_short_name(scale.type))
          .advise("calibrate with --type int8");
  }
}

}  // namespace

Ranges read_model_ranges(const std::filesystem::path& path, const Graph& graph, const Graph& model,
                         std::vector<std::string>& notes) {
  try {
    Ranges ranges = read_ranges(path);
    require_model(ranges, model);
    require_known_names(ranges, graph, model, notes);
    require_known_nodes(ranges, model);
    require_integers(ranges.scales);
    return ranges;
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

}  // namespace vernier
