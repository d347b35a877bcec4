#include <fstream>
#include <nlohmann/json.hpp>

#include "vernier/base/file.h"
#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"
#include "vernier/numeric/operand_format.h"
#include "vernier/precision/json.h"
#include "vernier/precision/plan_names.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;
using By = LayerPrecision::By;

constexpr const char* kSchema = "vernier-plan";
constexpr OperandFormat kTf32 = OperandFormat::tf32();
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
  if (!type) throw bad_input("is '{}', which is no element type", json.string());
  return *type;
}

By by_of(const std::string& text) {
  for (const auto& [by, name] : kBy) {
    if (text == name) return by;
  }
  throw bad_input("is '{}', and not user, rule, range, search or declared", text);
}

Json layer_json(const LayerPrecision& layer) {
  Json json = {{"compute", compute_name(layer)},
               {"accumulate", type_text(layer.accumulate)},
               {"store", type_text(layer.store)}};
  json["by"] = by_name(layer.by);
  json["why"] = layer.why;
  json["frozen"] = layer.frozen;
  for (const InputScale& each : layer.quant)
    json["quant"].push_back({{"input", each.input},
                             {"type", type_text(each.type)},
                             {"scale", each.scale},
                             {"zero_point", each.zero_point}});
  if (layer.weight_block > 0)
    json["weights"] = {{"type", type_text(ElementType::kInt4)}, {"block", layer.weight_block}};
  return json;
}

// Gives what `read` makes of a member that must be there; a complaint names it.
template <class Read>
auto field(const JsonValue& json, const char* name, const Read& read) {
  const JsonValue& member = json.at(name);
  try {
    return read(member);
  } catch (const Error& error) {
    throw bad_input("'{}' {}", name, error.message());
  }
}

// The same for a member that may be missing.
template <class Read, class Value>
auto field(const JsonValue& json, const char* name, const Read& read, Value otherwise) {
  return json.find(name) == nullptr ? otherwise : field(json, name, read);
}

InputScale scale_of(const JsonValue& json) {
  const auto real = [](const JsonValue& value) { return value.real(); };
  const auto integer = [](const JsonValue& value) { return value.integer(); };
  InputScale result{field(json, "input", [](const JsonValue& value) { return value.size(); }),
                    field(json, "type", type_of), field(json, "scale", real),
                    field(json, "zero_point", integer)};
  const bool eight = result.type == ElementType::kInt8 || result.type == ElementType::kUint8;
  const auto scale = static_cast<float>(result.scale);  // as graphs hold it
  if (!eight || !(scale > 0) || !std::isfinite(scale))
    throw bad_input("quantizes an input to {} with scale {}, not to i8 or u8 with a positive scale",
                    type_text(result.type), result.scale);
  if (result.zero_point < integer_min(result.type) ||
      result.zero_point > static_cast<int64_t>(integer_max(result.type)))
    throw bad_input("has the zero point {}, which is no {}", result.zero_point, type_text(result.type));
  return result;
}

int64_t weight_block_of(const JsonValue& json) {
  const auto type = field(json, "type", type_of);
  const int64_t block = field(json, "block", [](const JsonValue& value) { return value.integer(); });
  if (type != ElementType::kInt4 || block < 1)
    throw bad_input("quantizes weights to {} in blocks of {}, not to i4 in blocks of at least one",
                    type_text(type), block);
  return block;
}

LayerPrecision layer_of(const JsonValue& json) {
  LayerPrecision layer;
  layer.tf32 = field(json, "compute", [](const JsonValue& value) { return value.string() == kTf32.text(); });
  layer.compute = layer.tf32 ? ElementType::kFloat : field(json, "compute", type_of);
  layer.accumulate = field(json, "accumulate", type_of);
  layer.store = field(json, "store", type_of);
  const auto by = [](const JsonValue& value) { return by_of(value.string()); };
  const auto text = [](const JsonValue& value) { return value.string(); };
  layer.by = field(json, "by", by, By::kUser);
  layer.why = field(json, "why", text, std::string());
  layer.frozen = field(
      json, "frozen", [](const JsonValue& value) { return value.boolean(); }, false);
  const auto scales = [](const JsonValue& value) {
    std::vector<InputScale> list;
    for (const JsonValue& each : value.items()) list.push_back(scale_of(each));
    return list;
  };
  layer.quant = field(json, "quant", scales, std::vector<InputScale>());
  layer.weight_block = field(json, "weights", weight_block_of, int64_t{0});
  return layer;
}

}  // namespace

std::string_view by_name(By by) {
  for (const auto& [each, name] : kBy) {
    if (each == by) return name;
  }
  throw internal_error("a layer is set by nobody");
}

std::string_view compute_name(const LayerPrecision& layer) {
  return layer.tf32 ? kTf32.text() : element_type_short_name(layer.compute);
}

std::string plan_json(const PrecisionPlan& plan) {
  Json root = {{"schema", kSchema}, {"version", 1}, {"model", plan.model}, {"layers", Json::object()}};
  if (!plan.tf32) root["tf32"] = false;
  for (const auto& [node, layer] : plan.layers) root["layers"][node] = layer_json(layer);
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

PrecisionPlan parse_plan(const JsonValue& json) {
  constexpr const char* kMakeAgain =
      "correct it, or have `vernier export MODEL --save-plan` write the plan again";
  const JsonValue *schema = json.find("schema"), *version = json.find("version");
  if (schema == nullptr || schema->string() != kSchema || version == nullptr || version->integer() != 1)
    throw bad_input("this is no precision plan of version 1").advise("--plan takes what --save-plan wrote");
  PrecisionPlan plan;
  try {
    plan.model = field(
        json, "model", [](const JsonValue& value) { return value.string(); }, std::string());
    plan.tf32 = field(
        json, "tf32", [](const JsonValue& value) { return value.boolean(); }, true);
    for (const auto& [node, layer] : json.at("layers").members()) {
      try {
        plan.layers.emplace_hint(plan.layers.end(), node, layer_of(layer));
      } catch (Error& error) {
        throw error.at_node(node);
      }
    }
  } catch (Error& error) {
    throw error.advise(kMakeAgain);
  }
  return plan;
}

bool is_plan_file(const std::filesystem::path& path) {
  constexpr size_t kSchemaLiesWithin = 256;
  std::ifstream file(path, std::ios::binary);
  std::string start(kSchemaLiesWithin, '\0');
  file.read(start.data(), kSchemaLiesWithin);
  start.resize(static_cast<size_t>(file.gcount()));
  const size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string::npos && start[first] == '{' &&
         start.find(fmt::format("\"{}\"", kSchema)) != std::string::npos;
}

PrecisionPlan read_plan(const std::filesystem::path& path) {
  try {
    return parse_plan(JsonValue::parse(read_file(path)));
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

PrecisionPlan read_plan(const std::filesystem::path& path, const Graph& model) {
  PrecisionPlan plan = read_plan(path);
  try {
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
