#include "vernier/engine/file/recorded_options.h"

#include <nlohmann/json.hpp>

#include "vernier/base/hash.h"
#include "vernier/engine/named_options.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

constexpr NumericalClass kClasses[] = {NumericalClass::kExact, NumericalClass::kReassociating,
                                       NumericalClass::kNarrowing, NumericalClass::kApproximate};

std::set<std::string> strings_of(const JsonValue& json) {
  std::set<std::string> strings;
  for (const JsonValue& item : json.items()) strings.insert(item.string());
  return strings;
}

// Lists the elements of `a` that `b` lacks.
std::string missing(const std::set<std::string>& a, const std::set<std::string>& b) {
  constexpr size_t kMost = 3;
  std::vector<std::string> names;
  for (const std::string& name : a) {
    if (!b.contains(name) && names.size() < kMost) names.push_back("'" + name + "'");
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

nlohmann::ordered_json recorded_json(const BuildOptions& options) {
  std::vector<std::string> forbidden;
  for (const NumericalClass each : options.passes.forbidden)
    forbidden.emplace_back(numerical_class_name(each));
  auto named = nlohmann::ordered_json::object();
  for (const NamedOption& option : named_options()) {
    const auto value = option.recorded == nullptr ? std::nullopt : option.recorded(options);
    if (value) named[option.name] = *value;
  }
  return {{"keep_defaults", options.keep_defaults},
          {"workspace", options.workspace},
          {"disabled_passes", options.passes.disabled},
          {"forbidden", forbidden},
          {"approximate_tactics", options.tune.approximate},
          {"typed", options.planned.has_value() || options.precision.changes_types()},
          {"named", named}};
}

BuildOptions recorded_options(const JsonValue& json, const PrecisionPlan& precision) {
  BuildOptions options;
  options.keep_defaults = json.at("keep_defaults").boolean();
  options.workspace = json.at("workspace").size();
  options.passes.disabled = strings_of(json.at("disabled_passes"));
  const std::set<std::string> forbidden = strings_of(json.at("forbidden"));
  for (const NumericalClass each : kClasses) {
    if (forbidden.contains(std::string(numerical_class_name(each)))) options.passes.forbidden.insert(each);
  }
  options.tune.approximate = json.at("approximate_tactics").boolean();
  if (json.at("typed").boolean()) options.planned = precision;
  std::map<std::string, std::string> named;
  for (const auto& [name, value] : json.at("named").members()) {
    const NamedOption* option = find_named_option(name);
    if (option == nullptr || option->recorded == nullptr)
      throw bad_input("an engine file records no option '{}'", name);
    named[name] = value.string();
  }
  try {
    set_named_options(named, options);
  } catch (const Error& error) {
    throw bad_input("the engine file records an option that is none: {}", error.message());
  }
  return options;
}

uint64_t model_structure(const Graph& graph) {
  constexpr int64_t kMostContent = 64;
  TextOptions options;
  options.keep_outside = [](const Tensor& tensor) -> std::string {
    const bool counts = tensor.type() == ElementType::kInt64 || tensor.type() == ElementType::kInt32 ||
                        tensor.type() == ElementType::kBool;
    return counts && tensor.size() <= kMostContent ? "" : "weights";
  };
  return hash_text(print(graph, options));
}

void require_structure(const Graph& graph, uint64_t structure, const std::set<std::string>& nodes) {
  if (model_structure(graph) == structure) return;
  const auto copy = clone(graph);
  ops::infer_types(*copy);
  const auto found = onnx_nodes(*copy);
  const std::string more = missing(found, nodes), fewer = missing(nodes, found);
  std::string difference;
  if (!more.empty()) difference = fmt::format("the engine has no node {}", more);
  if (!fewer.empty())
    difference += fmt::format("{}the model has no node {}", more.empty() ? "" : ", ", fewer);
  if (difference.empty()) difference = "operators, attributes, sizes or connections are others";
  throw bad_input("the graph is not the one that the engine was built from: {}", difference)
      .advise("build an engine of this model without --refit");
}

}  // namespace vernier
