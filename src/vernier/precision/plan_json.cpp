#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/precision/json.h"
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

// "?" is the type of what is known only when it runs, in a region perhaps.
ElementType type_of(const JsonValue& json) {
  if (json.string() == element_type_short_name(ElementType::kUndefined)) return ElementType::kUndefined;
  const auto type = parse_element_type(json.string());
  if (!type) throw bad_input("'{}' is no element type", json.string());
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

InputScale scale_of(const JsonValue& json) {
  InputScale result{json.at("input").size(), type_of(json.at("type")), json.at("scale").real(),
                    json.at("zero_point").integer()};
  const bool eight = result.type == ElementType::kInt8 || result.type == ElementType::kUint8;
  if (!eight || !(result.scale > 0) || !std::isfinite(result.scale))
    throw bad_input("an input is quantised to {} with scale {}", type_text(result.type), result.scale)
        .advise("quantise to i8 or u8, with a positive scale");
  if (result.zero_point < integer_min(result.type) ||
      result.zero_point > static_cast<int64_t>(integer_max(result.type)))
    throw bad_input("zero point {} is no {}", result.zero_point, type_text(result.type));
  return result;
}

LayerPrecision layer_of(const JsonValue& json) {
  LayerPrecision layer;
  layer.compute = type_of(json.at("compute"));
  layer.accumulate = type_of(json.at("accumulate"));
  layer.store = type_of(json.at("store"));
  const JsonValue *by = json.find("by"), *why = json.find("why"), *frozen = json.find("frozen"),
                  *quant = json.find("quant");
  layer.by = by == nullptr ? By::kUser : by_of(by->string());
  if (why != nullptr) layer.why = why->string();
  layer.frozen = frozen != nullptr && frozen->boolean();
  if (quant == nullptr) return layer;
  for (const JsonValue& each : quant->items()) layer.quant.push_back(scale_of(each));
  return layer;
}

}  // namespace

std::string plan_json(const PrecisionPlan& plan) {
  Json root = {{"schema", kSchema}, {"version", 1}, {"model", plan.model}, {"layers", Json::object()}};
  for (const auto& [node, layer] : plan.layers) root["layers"][node] = layer_json(layer);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

PrecisionPlan parse_plan(const JsonValue& json) {
  const JsonValue *schema = json.find("schema"), *version = json.find("version"), *model = json.find("model");
  if (schema == nullptr || schema->string() != kSchema || version == nullptr || version->integer() != 1)
    throw bad_input("this is no precision plan of version 1").advise("--plan takes what `build` wrote");
  PrecisionPlan plan;
  if (model != nullptr) plan.model = model->string();
  for (const auto& [node, layer] : json.at("layers").members()) {
    try {
      plan.layers.emplace_hint(plan.layers.end(), node, layer_of(layer));
    } catch (Error& error) {
      throw error.at_node(node);
    }
  }
  return plan;
}

PrecisionPlan read_plan(const std::filesystem::path& path, const Graph& model) {
  try {
    PrecisionPlan plan = parse_plan(JsonValue::parse(read_file(path)));
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
