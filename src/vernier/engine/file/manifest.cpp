#include "vernier/engine/file/manifest.h"

#include <nlohmann/json.hpp>

#include "vernier/backends/installed/drivers.h"
#include "vernier/engine/file/certificate_json.h"
#include "vernier/engine/file/recorded_options.h"
#include "vernier/ir/text.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "vernier-engine/4";

template <class List, class JsonOf>
Json array_of(const List& list, const JsonOf& json_of) {
  Json array = Json::array();
  for (const auto& entry : list) array.push_back(json_of(entry));
  return array;
}

Json json_of(const PassRecord& record) {
  return {
      {"name", record.name}, {"class", numerical_class_name(record.numerics)}, {"rewrites", record.rewrites}};
}

std::vector<std::string> strings_of(const JsonValue& json) {
  std::vector<std::string> strings;
  for (const JsonValue& item : json.items()) strings.push_back(item.string());
  return strings;
}

std::map<std::string, std::string> texts_of(const JsonValue& json) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : json.members()) texts[name] = text.string();
  return texts;
}

PassRecord record_of(const JsonValue& json) {
  PassRecord record{json.at("name").string(), NumericalClass::kExact, json.at("rewrites").count()};
  const std::string& name = json.at("class").string();
  for (const auto each : {NumericalClass::kExact, NumericalClass::kReassociating, NumericalClass::kNarrowing,
                          NumericalClass::kApproximate}) {
    if (name == numerical_class_name(each)) record.numerics = each;
  }
  return record;
}

Json json_of(const ShapeProfile& profile) {
  Json inputs = Json::object();
  for (const auto& [name, ranges] : profile.inputs) {
    Json list = Json::array();
    for (const DimRange& range : ranges) list.push_back({range.min, range.opt, range.max});
    inputs[name] = std::move(list);
  }
  return inputs;
}

DimRange range_of(const JsonValue& json) {
  const auto& sizes = json.items();
  if (sizes.size() != 3) throw bad_input("a range has {} sizes instead of 3", sizes.size());
  return {sizes[0].integer(), sizes[1].integer(), sizes[2].integer()};
}

ShapeProfile profile_of(const JsonValue& json) {
  ShapeProfile profile;
  for (const auto& [name, ranges] : json.members()) {
    for (const JsonValue& range : ranges.items()) profile.inputs[name].push_back(range_of(range));
  }
  return profile;
}

Json json_of(const StepDescription& step) {
  Json json = {
      {"kernel", step.kernel}, {"reason", step.reason}, {"nodes", step.nodes}, {"contract", step.contract}};
  // Only engines with accelerators write these.
  const StepDescription plain;
  if (step.device != plain.device) json["device"] = step.device;
  if (!step.refusal.empty()) json["refusal"] = step.refusal;
  if (step.copied > 0) json["copied"] = step.copied;
  return json;
}

StepDescription step_of(const JsonValue& json) {
  StepDescription step{json.at("kernel").string(), json.at("reason").string(), strings_of(json.at("nodes")),
                       json.at("contract").string()};
  if (const JsonValue* device = json.find("device")) step.device = device->string();
  if (const JsonValue* refusal = json.find("refusal")) step.refusal = refusal->string();
  if (const JsonValue* copied = json.find("copied")) step.copied = copied->size();
  return step;
}

Json json_of(const Manifest::Tuned& tuned) {
  return {{"inputs", tuned.inputs},
          {"images", tuned.images},
          {"tactics", tuned.tactics},
          {"apart", tuned.ungrouped}};
}

Manifest::Tuned tuned_of(const JsonValue& json) {
  Manifest::Tuned tuned;
  tuned.inputs = strings_of(json.at("inputs"));
  tuned.images = json.at("images").string();
  tuned.tactics = texts_of(json.at("tactics"));
  for (const auto& [name, levels] : json.at("apart").members()) tuned.ungrouped[name] = levels.count();
  return tuned;
}

Json json_of(const Manifest::Plan& plan) {
  Json json = json_of(static_cast<const Manifest::Tuned&>(plan));
  json["threads"] = plan.threads;
  json["steps"] = array_of(plan.steps, [](const auto& step) { return json_of(step); });
  json["arena_bytes"] = plan.arena_bytes;
  return json;
}

Manifest::Plan plan_of(const JsonValue& json) {
  Manifest::Plan plan(tuned_of(json));
  plan.threads = json.at("threads").count();
  for (const JsonValue& step : json.at("steps").items()) plan.steps.push_back(step_of(step));
  plan.arena_bytes = json.at("arena_bytes").size();
  return plan;
}

// File systems take names that are not UTF-8.
Json readable(const std::string& file_name) {
  return Json::parse(Json(file_name).dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json json_of(const Manifest::Constant& constant) {
  return {
      {"name", constant.name}, {"type", constant.type}, {"plain", constant.plain}, {"forms", constant.forms}};
}

Manifest::Constant constant_of(const JsonValue& json) {
  return {json.at("name").string(), json.at("type").string(), json.at("plain").boolean(),
          strings_of(json.at("forms"))};
}

Json json_of(const Manifest::Payload& payload) {
  return {{"name", payload.name}, {"device", payload.device}};
}

Manifest manifest_of(const JsonValue& json) {
  if (json.at("schema").string() != kSchema)
    throw bad_input("it has the schema '{}'", json.at("schema").string());
  Manifest manifest;
  const JsonValue &fingerprint = json.at("fingerprint"), &model = json.at("model"),
                  &certificate = json.at("certificate");
  manifest.fingerprint = {fingerprint.at("vernier").string(), fingerprint.at("cpu").string(),
                          fingerprint.at("libraries").string()};
  manifest.model_name = model.at("name").string();
  manifest.model_hash = model.at("hash").string();
  manifest.structure = model.at("structure").size();
  manifest.options = texts_of(json.at("options"));
  for (const JsonValue& entry : json.at("passes").items()) manifest.passes.push_back(record_of(entry));
  manifest.precision = parse_plan(json.at("precision"));
  manifest.build = recorded_options(json.at("build"), manifest.precision);
  manifest.devices = parse_devices(json.find("devices"));
  for (const JsonValue& node : json.at("nodes").items()) manifest.nodes.insert(node.string());
  for (const JsonValue& entry : json.at("profiles").items()) manifest.profiles.push_back(profile_of(entry));
  for (const JsonValue& entry : json.at("plans").items()) manifest.plans.push_back(plan_of(entry));
  for (const JsonValue& entry : json.at("tuned").items()) manifest.tuned.push_back(tuned_of(entry));
  for (const JsonValue& entry : json.at("constants").items())
    manifest.constants.push_back(constant_of(entry));
  if (const JsonValue* payloads = json.find("payloads")) {
    for (const JsonValue& entry : payloads->items())
      manifest.payloads.push_back({entry.at("name").string(), entry.at("device").size()});
  }
  manifest.stripped = json.at("stripped").boolean();
  if (!certificate.is_null()) manifest.certificate = certificate_of(certificate);
  return manifest;
}

}  // namespace

Fingerprint Fingerprint::here() {
  return {VERNIER_VERSION, host_driver().instruction_sets(), host_driver().library_versions()};
}

Manifest::Tuned::Tuned(const TunedSizes& sizes)
    : images(layout_name(sizes.choices.images)),
      tactics(sizes.choices.tactics),
      ungrouped(sizes.choices.ungrouped) {
  for (const ValueType& type : sizes.inputs) inputs.push_back(type.text());
}

TunedSizes Manifest::Tuned::sizes() const {
  TunedSizes sizes;
  for (const std::string& text : inputs) sizes.inputs.push_back(parse_value_type(text));
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
    if (images != layout_name(layout)) continue;
    sizes.choices = {layout, tactics, ungrouped};
    return sizes;
  }
  throw bad_input("the engine file names the layout '{}', which is not known", images);
}

void Manifest::Plan::require_same_kernels(const vernier::Plan& made) const {
  if (made.steps.size() != steps.size())
    throw unsupported("the plan has {} steps here, and had {}", made.steps.size(), steps.size())
        .advise("build the engine here again");
  const auto made_steps = describe_steps(made);
  for (size_t i = 0; i < made_steps.size(); ++i) {
    const StepDescription &had = steps[i], &has = made_steps[i];
    if (has.kernel == had.kernel && has.device == had.device) continue;
    throw unsupported("step {} was built with the kernel '{}' on {}, here it would be '{}' on {}", i,
                      had.kernel, had.device, has.kernel, has.device)
        .advise("build the engine here again");
  }
}

std::string Manifest::json() const {
  const auto describe = [](const auto& entry) { return json_of(entry); };
  const Json json = {
      {"schema", kSchema},
      {"fingerprint",
       {{"vernier", fingerprint.vernier}, {"cpu", fingerprint.cpu}, {"libraries", fingerprint.libraries}}},
      {"model", {{"name", readable(model_name)}, {"hash", model_hash}, {"structure", structure}}},
      {"options", options},
      {"build", recorded_json(build)},
      {"devices", devices_json(devices)},
      {"passes", array_of(passes, describe)},
      {"precision", Json::parse(plan_json(precision))},
      {"nodes", nodes},
      {"profiles", array_of(profiles, describe)},
      {"plans", array_of(plans, describe)},
      {"tuned", array_of(tuned, describe)},
      {"constants", array_of(constants, describe)},
      {"payloads", array_of(payloads, describe)},
      {"stripped", stripped},
      {"certificate", certificate ? json_of(*certificate) : Json()}};
  try {
    return json.dump(1);
  } catch (const Json::exception&) {
    throw bad_input("a name in the model is not UTF-8, which engine files cannot hold")
        .advise("rename it; ONNX asks for UTF-8");
  }
}

Manifest Manifest::parse(std::string_view text) {
  try {
    return manifest_of(JsonValue::parse(text));
  } catch (const Error& error) {
    throw bad_input("the manifest of the engine file cannot be read: {}", error.message());
  }
}

}  // namespace vernier
