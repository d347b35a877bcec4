#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/precision/plan.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;
using By = LayerPrecision::By;

constexpr const char* kSchema = "vernier-plan";
constexpr std::pair<By, const char*> kBy[] = {{By::kDeclared, "declared"},
                                              {By::kRule, "rule"},
                                              {By::kRange, "range"},
                                              {By::kSearch, "search"},
                                              {By::kUser, "user"}};

std::string type_text(ElementType type) {
  return std::string(element_type_short_name(type));
}

ElementType type_of(const Json& json) {
  const auto type = parse_element_type(json.get<std::string>());
  if (!type) throw bad_input("'{}' is no element type", json.get<std::string>());
  return *type;
}

By by_of(const std::string& text) {
  for (const auto& [by, name] : kBy) {
    if (text == name) return by;
  }
  throw bad_input("'{}' sets no precision", text).advise("write user, rule, range, search or declared");
}

Json layer_json(const LayerPrecision& layer) {
  Json json = {{"compute", type_text(layer.compute)},
               {"accumulate", type_text(layer.accumulate)},
               {"store", type_text(layer.store)}};
  for (const auto& [by, name] : kBy) {
    if (by == layer.by) json["by"] = name;
  }
  json["why"] = layer.why;
  json["frozen"] = layer.frozen;
  for (const InputScale& each : layer.quant)
    json["quant"].push_back({{"input", each.input},
                             {"type", type_text(each.type)},
                             {"scale", each.scale},
                             {"zero_point", each.zero_point}});
  return json;
}

InputScale scale_of(const Json& json) {
  InputScale result{json.at("input").get<size_t>(), type_of(json.at("type")), json.at("scale").get<double>(),
                    json.at("zero_point").get<int64_t>()};
  const bool eight = result.type == ElementType::kInt8 || result.type == ElementType::kUint8;
  if (!eight || !(result.scale > 0) || !std::isfinite(result.scale))
    throw bad_input("an input is quantised to {} with scale {}", type_text(result.type), result.scale)
        .advise("quantise to i8 or u8, with a positive scale");
  if (result.zero_point < integer_min(result.type) ||
      result.zero_point > static_cast<int64_t>(integer_max(result.type)))
    throw bad_input("zero point {} is no {}", result.zero_point, type_text(result.type));
  return result;
}

LayerPrecision layer_of(const Json& json) {
  LayerPrecision layer;
  layer.compute = type_of(json.at("compute"));
  layer.accumulate = type_of(json.at("accumulate"));
  layer.store = type_of(json.at("store"));
  layer.by = by_of(json.value("by", "user"));
  layer.why = json.value("why", "");
  layer.frozen = json.value("frozen", false);
  for (const Json& each : json.value("quant", Json::array())) layer.quant.push_back(scale_of(each));
  return layer;
}

}  // namespace

std::string plan_json(const PrecisionPlan& plan) {
  Json root = {{"schema", kSchema}, {"version", 1}, {"model", plan.model}, {"layers", Json::object()}};
  for (const auto& [node, layer] : plan.layers) root["layers"][node] = layer_json(layer);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

PrecisionPlan parse_plan(const std::string& text) {
  try {
    const Json root = Json::parse(text);
    if (root.value("schema", "") != kSchema || root.value("version", 0) != 1)
      throw bad_input("this is no precision plan of version 1").advise("--plan takes what `build` wrote");
    PrecisionPlan plan;
    plan.model = root.value("model", "");
    for (const auto& [node, layer] : root.at("layers").items()) {
      try {
        plan.layers[node] = layer_of(layer);
      } catch (Error& error) {
        throw error.at_node(node);
      }
    }
    return plan;
  } catch (const Json::exception& error) {
    throw bad_input("this is no precision plan: {}", error.what());
  }
}

PrecisionPlan read_plan(const std::filesystem::path& path, const Graph& model) {
  try {
    PrecisionPlan plan = parse_plan(read_file(path));
    const auto known = onnx_nodes(model);
    for (const auto& [node, layer] : plan.layers) {
      if (!known.contains(node))
        throw bad_input("the plan names node '{}', which the model does not have", node)
            .advise("make the plan again for this model, or remove the node from it");
    }
    const std::string hash = hash_to_text(structural_hash(model));
    if (!plan.model.empty() && plan.model != hash)
      throw bad_input("the plan is for model {}, and this is {}", plan.model, hash)
          .advise("make the plan again for this model, or set \"model\" to \"\"");
    return plan;
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

}  // namespace vernier
