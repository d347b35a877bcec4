#include "vernier/engine/file/certificate_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/base/error.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

// JSON has no numbers for these; distances have no sign.
constexpr const char* kNotCompared = "nan";
constexpr const char* kWithoutBound = "inf";

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? kNotCompared : kWithoutBound);
}

double number_of(const JsonValue& json) {
  if (json.is_string()) return json.string() == kWithoutBound ? HUGE_VAL : std::nan("");
  return json.real();
}

Verdict verdict_of(const std::string& name) {
  for (const Verdict verdict :
       {Verdict::kPass, Verdict::kMistrusted, Verdict::kNotCompared, Verdict::kFail}) {
    if (name == verdict_name(verdict)) return verdict;
  }
  throw bad_input("there is no verdict '{}'", name);
}

std::vector<std::string> strings_of(const JsonValue& json) {
  std::vector<std::string> strings;
  for (const JsonValue& item : json.items()) strings.push_back(item.string());
  return strings;
}

}  // namespace

Json json_of(const Certificate& certificate) {
  Json outputs = Json::array();
  for (const auto& output : certificate.outputs)
    outputs.push_back({{"name", output.name},
                       {"planned", number(output.planned)},
                       {"declared", number(output.declared)},
                       {"ideal", number(output.ideal)}});
  return {{"verdict", verdict_name(certificate.verdict)},
          {"reasons", certificate.reasons},
          {"samples", certificate.samples},
          {"notes", certificate.notes},
          {"relative_l2", outputs}};
}

Certificate certificate_of(const JsonValue& json) {
  Certificate certificate{verdict_of(json.at("verdict").string()),
                          strings_of(json.at("reasons")),
                          strings_of(json.at("samples")),
                          strings_of(json.at("notes")),
                          {}};
  for (const JsonValue& output : json.at("relative_l2").items())
    certificate.outputs.push_back({output.at("name").string(), number_of(output.at("planned")),
                                   number_of(output.at("declared")), number_of(output.at("ideal"))});
  return certificate;
}

}  // namespace vernier
