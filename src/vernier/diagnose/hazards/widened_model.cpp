#include "vernier/diagnose/hazards/widened_model.h"

#include <fmt/ranges.h>

#include <cmath>

#include "vernier/diagnose/hypotheses/precision/precision_class.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/typed_model.h"

namespace vernier {

std::set<std::string> nodes_to_widen(const std::set<const Node*>& chain, const RunPair& runs,
                                     const Surroundings& around) {
  std::set<std::string> names;
  const auto reads_what_is_lost = [&](const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Value* input) {
      return input != nullptr && chain.contains(input->producer()) && !survives(*input, runs, around);
    });
  };
  for (const Node* node : around.nodes()) {
    const bool computes_floats = node->regions.empty() && is_float(element_of(main_output(*node)));
    const bool is_reader = !takes_any_float(*node) && reads_what_is_lost(*node);
    if (computes_floats && (chain.contains(node) || is_reader)) names.merge(onnx_nodes(*node));
  }
  return names;
}

// Layers differ in their numbers; a command that names each of many nodes is nothing to type.
std::set<std::string> patterns_of(const std::set<std::string>& nodes) {
  constexpr size_t kFew = 8;
  if (nodes.size() <= kFew) return nodes;
  std::set<std::string> patterns;
  for (const std::string& name : nodes) {
    std::string pattern;
    for (const char c : name) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit)
        pattern += c;
      else if (pattern.empty() || pattern.back() != '*')
        pattern += '*';
    }
    patterns.insert(std::move(pattern));
  }
  return patterns;
}

std::string widening_option(const std::set<std::string>& patterns) {
  return fmt::format("--keep-fp32 '{}'", fmt::join(patterns, ","));
}

std::optional<Evidence> widened_model(const Model& model, const std::set<std::string>& patterns,
                                      const NamedData& inputs, const NamedData& ideal, double before) {
  PrecisionOptions options;
  for (const std::string& each : patterns) options.layers.push_back({each, ElementType::kFloat, true});
  try {
    const TypedModel typed = typed_model(model, options);
    const double after =
        IdealComparison::relative_error(ideal, reference_outputs(*typed.model.graph, inputs));
    constexpr double kCures = 0.5;
    if (!(after < kCures * before)) return std::nullopt;
    const std::string fall =
        std::isfinite(before)
            ? fmt::format("the error of the outputs falls from {:.2g} to {:.2g}", before, after)
            : fmt::format("all outputs are numbers, and off by {:.2g}", after);
    return Evidence{"widened model", after, fmt::format("with {} {}", widening_option(patterns), fall)};
  } catch (const Error&) {  // nodes that share a name, perhaps
    return std::nullopt;
  }
}

}  // namespace vernier
