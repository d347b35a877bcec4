// JSON from outside, read strictly. Only the forward declaration of the library is seen here.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace vernier {

// Throws bad_input for what is not JSON in UTF-8, nests deeper than 64 levels, or names a key of an object
// twice.
nlohmann::json parse_json(std::string_view text);
// One line. Throws bad_input when a string in it is not UTF-8.
std::string json_text(const nlohmann::json& json);
bool is_utf8(std::string_view text);

// A field of an object; throws bad_input when it is absent or of another kind.
const nlohmann::json& json_array(const nlohmann::json& object, const std::string& field);
const std::string& json_string(const nlohmann::json& object, const std::string& field);
// An integer from 0 to 2^63 - 1.
int64_t json_size(const nlohmann::json& value, const std::string& what);

// Base64 (RFC 4648, with padding). Internal to the room.
std::string encode_base64(std::string_view bytes);
// Throws bad_input for anything that encode_base64 would not have written.
std::string decode_base64(std::string_view text);

}  // namespace vernier
