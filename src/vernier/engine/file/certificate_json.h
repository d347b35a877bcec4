// A certificate as JSON, as engine files and reports hold it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vernier/engine/certificate.h"

namespace vernier {

class JsonValue;

nlohmann::ordered_json json_of(const Certificate& certificate);
// Throws bad_input for what is no certificate.
Certificate certificate_of(const JsonValue& json);

}  // namespace vernier
