#include "vernier/engine/manifest.h"

#include <nlohmann/json.hpp>

#include "vernier/backends/cpu/environment.h"
#include "vernier/engine/recorded_options.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

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

PassRecord record_of(const Json& json) {
  PassRecord record{json.at("name"), NumericalClass::kExact, json.at("rewrites")};
  const std::string name = json.at("class");
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

ShapeProfile profile_of(const Json& json) {
  ShapeProfile profile;
  for (const auto& [name, ranges] : json.items()) {
    for (const Json& range : ranges) profile.inputs[name].push_back({range.at(0), range.at(1), range.at(2)});
  }
  return profile;
}

Json json_of(const StepDescription& step) {
  return {
      {"kernel", step.kernel}, {"reason", step.reason}, {"nodes", step.nodes}, {"contract", step.contract}};
}

StepDescription step_of(const Json& json) {
  return {json.at("kernel"), json.at("reason"), json.at("nodes"), json.at("contract")};
}

Json json_of(const Manifest::Plan& plan) {
  return {{"inputs", plan.inputs},
          {"threads", plan.threads},
          {"images", plan.images},
          {"tactics", plan.tactics},
          {"steps", array_of(plan.steps, [](const auto& step) { return json_of(step); })},
          {"arena_bytes", plan.arena_bytes}};
}

Manifest::Plan plan_of(const Json& json) {
  Manifest::Plan plan{json.at("inputs"),     json.at("threads"), json.at("images"), json.at("tactics"), {},
                      json.at("arena_bytes")};
  for (const Json& step : json.at("steps")) plan.steps.push_back(step_of(step));
  return plan;
}

Json json_of(const Manifest::Constant& constant) {
  return {
      {"name", constant.name}, {"type", constant.type}, {"plain", constant.plain}, {"forms", constant.forms}};
}

Manifest::Constant constant_of(const Json& json) {
  return {json.at("name"), json.at("type"), json.at("plain"), json.at("forms")};
}

}  // namespace

Fingerprint Fingerprint::here() {
  return {VERNIER_VERSION, cpu::instruction_sets(), cpu::library_versions()};
}

std::string Manifest::json() const {
  const auto describe = [](const auto& entry) { return json_of(entry); };
  const Json json = {
      {"schema", "vernier-engine/1"},
      {"fingerprint",
       {{"vernier", fingerprint.vernier}, {"cpu", fingerprint.cpu}, {"libraries", fingerprint.libraries}}},
      {"model", {{"name", model_name}, {"hash", model_hash}, {"structure", structure}}},
      {"options", options},
      {"build", recorded_json(build)},
      {"passes", array_of(passes, describe)},
      {"precision", Json::parse(plan_json(precision))},
      {"nodes", nodes},
      {"profiles", array_of(profiles, describe)},
      {"plans", array_of(plans, describe)},
      {"constants", array_of(constants, describe)},
      {"stripped", stripped},
      {"certificate", certificate.empty() ? Json() : Json::parse(certificate)}};
  return json.dump(1);
}

Manifest Manifest::parse(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != "vernier-engine/1")
      throw bad_input("the manifest has the schema {}", json.at("schema").dump());
    Manifest manifest;
    const Json& fingerprint = json.at("fingerprint");
    manifest.fingerprint = {fingerprint.at("vernier"), fingerprint.at("cpu"), fingerprint.at("libraries")};
    manifest.model_name = json.at("model").at("name");
    manifest.model_hash = json.at("model").at("hash");
    manifest.structure = json.at("model").at("structure");
    manifest.options = json.at("options");
    for (const Json& entry : json.at("passes")) manifest.passes.push_back(record_of(entry));
    manifest.precision = parse_plan(json.at("precision").dump());
    manifest.build = recorded_options(json.at("build"), manifest.precision);
    manifest.nodes = json.at("nodes");
    for (const Json& entry : json.at("profiles")) manifest.profiles.push_back(profile_of(entry));
    for (const Json& entry : json.at("plans")) manifest.plans.push_back(plan_of(entry));
    for (const Json& entry : json.at("constants")) manifest.constants.push_back(constant_of(entry));
    manifest.stripped = json.at("stripped");
    if (!json.at("certificate").is_null()) {
      manifest.certificate = json.at("certificate").dump();
      manifest.verdict = json.at("certificate").at("verdict");
    }
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    throw bad_input("the manifest of the engine file cannot be read: {}", error.what());
  }
}

}  // namespace vernier
