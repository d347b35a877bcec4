// Verdicts of tactics as JSON: in the file of a timing cache, and on the way from a child process.
#pragma once

#include <nlohmann/json.hpp>

#include "vernier/tune/timing_cache.h"

namespace vernier {

nlohmann::ordered_json json_of(const TacticVerdict& verdict);
// Throws nlohmann::json::exception for what is none.
TacticVerdict verdict_of(const nlohmann::ordered_json& json);

}  // namespace vernier
