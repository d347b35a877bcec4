#include "vernier/tune/verdict_json.h"

#include <cmath>

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;

// JSON has no number for what is infinite or none.
double number_of(const Json& json) {
  return json.is_null() ? HUGE_VAL : json.get<double>();
}

}  // namespace

Json json_of(const TacticVerdict& verdict) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"error", number(verdict.error)},
          {"deviation", number(verdict.deviation)},
          {"fault", verdict.fault},
          {"refused", verdict.refused}};
}

TacticVerdict verdict_of(const Json& json) {
  return {number_of(json.at("error")), number_of(json.at("deviation")), json.at("fault"), json.at("refused")};
}

}  // namespace vernier
